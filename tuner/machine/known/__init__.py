"""Published HPL results of other people's machines, and which of them are of the same CPU."""
