"""What programs read: JSON and files below /api/v1."""
