"""Steps of a check: one kind of benchmark on all nodes each."""
