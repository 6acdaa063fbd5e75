"""What the service keeps in the store."""
