"""Statistics of scaling: how well a program uses more nodes, and what is lost."""
