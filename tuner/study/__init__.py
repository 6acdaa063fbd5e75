"""A study while it is worked on: its session, search, beginning and end."""
