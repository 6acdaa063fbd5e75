"""Studies for other programs: CSV, JSON lines, Markdown, pandas."""
