"""Campaigns at stated times: every Monday at 06:00."""
