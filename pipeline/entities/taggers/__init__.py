"""Sequence labellers: one file each, registered in ``pipeline.registry.TAGGERS``."""
