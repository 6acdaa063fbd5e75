"""What happened: the record of a trial, the store that keeps it, and what can be computed from it."""
