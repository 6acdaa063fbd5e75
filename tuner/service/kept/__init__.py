"""What the service has computed, kept until what it tells of changes."""
