"""The stages joined: training a run, and predicting with it."""
