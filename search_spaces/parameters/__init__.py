"""Parameters of a space: their dimensions, values, cases and meanings."""
