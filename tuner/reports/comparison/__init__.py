"""Parts of the report that compares studies, or the values of one parameter."""
