"""Sentiment heads: one file each, registered in ``pipeline.registry.HEADS``."""
