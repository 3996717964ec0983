"""Rows of the plain tagging mode: texts with marked spans, in each of the forms in which people keep them."""

from pipeline.data.formats.tagging.files import Form, RowWriter, TagFile, iter_rows, read_rows, row_kind
from pipeline.data.formats.tagging.notation import Notation
from pipeline.data.formats.tagging.row import RowKind, TagRow, labelled_text, untouched_spans
from pipeline.data.formats.tagging.tokens import to_characters

__all__ = [
    "Form",
    "Notation",
    "RowKind",
    "RowWriter",
    "TagFile",
    "TagRow",
    "iter_rows",
    "labelled_text",
    "read_rows",
    "row_kind",
    "to_characters",
    "untouched_spans",
]
