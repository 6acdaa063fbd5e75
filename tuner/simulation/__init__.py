"""Studies on virtual clusters: the same space, engine, store and reports, with SimGrid's clock."""
