"""Reports: where the points of a run are lost."""
