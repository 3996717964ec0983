"""How work is run: over processes, over a cluster, fold by fold."""
