"""Kinds of files that rows are kept in, each a reader of decoded rows."""
