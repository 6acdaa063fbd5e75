"""HPL on 1, 2, 4, … nodes: which runs, on which nodes, and what they tell together."""
