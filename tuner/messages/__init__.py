"""What a service and its clients tell each other."""
