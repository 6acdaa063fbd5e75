"""What the results of a check tell: which nodes are not like the others, and why."""
