"""What an operator can see of the service: logs, metrics, and who did what."""
