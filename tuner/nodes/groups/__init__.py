"""HPL on groups of real nodes: which can take part, how HPL starts there, and the turns of all groups."""
