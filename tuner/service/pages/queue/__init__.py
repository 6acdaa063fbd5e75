"""Campaigns that were handed in: what may be done with them, and their pages before their studies begin."""
