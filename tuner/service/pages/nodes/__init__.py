"""Pages of checks of nodes: a list, and each check with a map of its nodes."""
