"""The version of the program, in a place that every floor may read."""

VERSION = "0.2.0"
