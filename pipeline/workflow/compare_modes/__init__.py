"""Two stages, one tagger, and their average, trained on the same folds and compared (`run.py compare modes`)."""
