"""Stage one: which names are an article's core entities."""
