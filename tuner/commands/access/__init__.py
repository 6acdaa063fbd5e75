"""Who may use the service."""
