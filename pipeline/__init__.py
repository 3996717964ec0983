"""Core entities of a Chinese news article and the emotion toward each."""

__version__ = "0.1.0"
