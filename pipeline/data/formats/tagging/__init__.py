"""Rows of the plain tagging mode: texts with marked spans, in each of the forms in which people keep them."""

from pipeline.data.formats.tagging.files import RowWriter, TagFile, count_lines, iter_rows, read_rows
from pipeline.data.formats.tagging.form import Form
from pipeline.data.formats.tagging.notation import Notation
from pipeline.data.formats.tagging.registry import FORMATS, format_named, recognise
from pipeline.data.formats.tagging.row import RowKind, TagRow, labelled_text, untouched_spans
from pipeline.data.formats.tagging.tokens import to_characters
from pipeline.data.formats.tagging.writers import WRITERS, write_rows, written_rows

__all__ = [
    "FORMATS",
    "WRITERS",
    "Form",
    "Notation",
    "RowKind",
    "RowWriter",
    "TagFile",
    "TagRow",
    "count_lines",
    "format_named",
    "iter_rows",
    "labelled_text",
    "read_rows",
    "recognise",
    "to_characters",
    "untouched_spans",
    "write_rows",
    "written_rows",
]
