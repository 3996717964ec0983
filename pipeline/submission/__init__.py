"""The upload file: cleaning, writing, checking, reading back; see DESIGN.md section 4 for the formats."""

from pipeline.artifacts import read_table, write_table
from pipeline.submission.check import Problem, check_submission, read_submission
from pipeline.submission.clean import clean_name, clean_names
from pipeline.submission.details import chosen_of, details_line, read_details
from pipeline.submission.journal import PredictionJournal
from pipeline.submission.origin import Origin, note_origin, noted_origin, refuse_other_answers
from pipeline.submission.write import CSV_COLUMNS, SubmissionWriter

__all__ = [
    "CSV_COLUMNS",
    "Origin",
    "PredictionJournal",
    "Problem",
    "SubmissionWriter",
    "check_submission",
    "chosen_of",
    "clean_name",
    "clean_names",
    "details_line",
    "note_origin",
    "noted_origin",
    "read_details",
    "read_submission",
    "read_table",
    "refuse_other_answers",
    "write_table",
]
