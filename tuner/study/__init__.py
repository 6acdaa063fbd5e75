"""A study while it is worked on: its session, scheduler, workers, beginning and end."""
