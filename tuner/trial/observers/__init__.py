"""What watches a launch of HPL while it runs: the contract, its registry, and one file for each observer."""
