"""Reports of how HPL scales."""
