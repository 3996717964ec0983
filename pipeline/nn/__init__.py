"""What networks of both stages share: the training loop, layers, batches, encoders. It knows neither stage."""
