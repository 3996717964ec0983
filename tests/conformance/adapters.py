"""The adapters, and the kinds that belong to later issues. A new kind is one adapter and one line here."""

from __future__ import annotations

from .candidates import CANDIDATES, DETAIL_OUTPUT, OFFSETS
from .choosing import OOF, SELECT
from .commands import CLI, CLI_PREDICT
from .framework import Adapter
from .heads import HEAD_INPUT
from .joint import JOINT_DECODE, JOINT_VOTE
from .lexicon import LEXICON
from .output import SUBMISSION, TABLE_ROUNDTRIP, VALIDATE_SUBMISSION
from .ranking import RANKER_FEATURES, RANKER_GROUPS
from .reading import ALIGN, PARSE
from .reports import EMOTION_REPORT, ERROR_REPORT
from .repro import REPRO
from .scoring import METRIC
from .splitting import SPLIT
from .tags import DECODE, TAG_ROUNDTRIP, WINDOW

ADAPTERS: dict[str, Adapter] = {
    "align": ALIGN,
    "candidates": CANDIDATES,
    "cli": CLI,
    "cli_predict": CLI_PREDICT,
    "decode": DECODE,
    "detail_output": DETAIL_OUTPUT,
    "emotion_report": EMOTION_REPORT,
    "error_report": ERROR_REPORT,
    "head_input": HEAD_INPUT,
    "joint_decode": JOINT_DECODE,
    "joint_vote": JOINT_VOTE,
    "lexicon": LEXICON,
    "metric": METRIC,
    "offsets": OFFSETS,
    "oof": OOF,
    "parse": PARSE,
    "ranker_features": RANKER_FEATURES,
    "ranker_groups": RANKER_GROUPS,
    "repro": REPRO,
    "select": SELECT,
    "split": SPLIT,
    "submission": SUBMISSION,
    "table_roundtrip": TABLE_ROUNDTRIP,
    "tag_roundtrip": TAG_ROUNDTRIP,
    "validate_submission": VALIDATE_SUBMISSION,
    "window": WINDOW,
}

LATER: dict[str, str] = {}
"""Kinds without adapter yet, and why. The test of a kind that has got one must pass: its line goes away."""
