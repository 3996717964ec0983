"""The same models on other people's rows, without articles."""
