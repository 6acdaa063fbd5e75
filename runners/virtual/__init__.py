"""Virtual clusters: what they are made of, and how SimGrid is told."""
