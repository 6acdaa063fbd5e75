"""Settings of the network between nodes: shown, applied, verified and put back."""
