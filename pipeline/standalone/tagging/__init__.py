"""Taggers on rows with marked spans (`run.py tag`)."""
