"""What would spoil runs on a machine or its nodes, and what to do about it, before anything is started."""
