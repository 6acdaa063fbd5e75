"""How ranks are started: pure functions from a job to the tokens of a command line."""
