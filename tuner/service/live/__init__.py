"""Live events: what happens in campaigns, told while it happens."""
