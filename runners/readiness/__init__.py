"""Whether nodes are ready: facts that should be alike, programs that run on all of them at once, and their files."""
