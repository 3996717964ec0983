"""People's own rows, in each of the forms in which they keep them."""
