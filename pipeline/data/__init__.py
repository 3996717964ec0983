"""Articles and other rows: reading, checking, grouping, cutting into folds."""
