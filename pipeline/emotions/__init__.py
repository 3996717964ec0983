"""Stage two: how an article feels about a name."""
