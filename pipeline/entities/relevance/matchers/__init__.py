"""Siamese networks: how well two texts belong together. Registered in ``pipeline.registry.MATCHERS``."""
