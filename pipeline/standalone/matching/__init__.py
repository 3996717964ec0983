"""Matchers on pairs of texts (`run.py match`)."""
