"""Who tells the energy of a run: the contract of a source, one file for each, and what reads them while HPL solves."""
