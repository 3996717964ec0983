"""Training of a registered head on any set of classes, over any embedding."""
