"""Sentiment heads on labelled texts and targets (`run.py compare heads`)."""
