"""The store of studies, in SQLite or PostgreSQL."""
