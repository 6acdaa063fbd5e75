"""Where studies are kept: SQLite and PostgreSQL behind one store."""
