"""Reports as data, and what shows them: terminal, Markdown, JSON, pictures."""
