"""The form that starts a campaign."""
