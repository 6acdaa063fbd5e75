"""HPL on 1, 2, 4, … nodes: which runs, on which nodes, what they tell together, and its report."""
