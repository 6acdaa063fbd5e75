"""What a campaign can be: one kind a file, one line in the registry."""
