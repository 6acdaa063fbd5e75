"""The HTML page of a report: template, styles and script, all of which go into one file."""
