"""Published HPL results beside a study, and in a list of their own."""
