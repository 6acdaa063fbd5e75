"""`hpltune serve`: the use cases over HTTP."""
