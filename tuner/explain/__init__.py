"""What a study learned: which parameters matter, which depend on each other, and what a simpler search would miss."""
