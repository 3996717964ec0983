"""Which notation a file's tags are read in: recognised, tried on all rows, and never at the cost of many spans."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from pipeline.data.formats.tagging.conventions import LETTERS
from pipeline.data.formats.tagging.notation import PLAIN, Fit, Notation
from pipeline.data.formats.tagging.row import TagRow
from pipeline.data.formats.tagging.source import located
from pipeline.errors import ConfigError, DataError

PLAIN_NAME = "WORD"
"""Names the reading in which each token's tag is its label, whatever it looks like."""
logger = logging.getLogger(__name__)

MAX_LOST = 0.01
"""Share of a file's spans that may be lost to tags that break the rules."""


def named_notation(name: str, tags: Notation) -> Notation:
    """Return a notation that the user names, with the spelling that was recognised.

    Raises:
        ConfigError: there is none of that name.
    """
    if name.upper() == PLAIN_NAME:
        return Notation(PLAIN)
    names = {"BIO": "BI", "IOB2": "BI", "BIOES": "BIES", "BILOU": "BILU", **{letters: letters for letters in LETTERS}}
    if name.upper() not in names:
        raise ConfigError(f"no notation of tags {name!r} (have: {', '.join(names)}, {PLAIN_NAME})")
    return Notation(names[name.upper()], tags.spelling)


def choose_notation(path: Path, rows: Sequence[TagRow]) -> Notation:
    """Recognise the notation of a file's tags, and see to it that hardly any span is lost.

    Where most spans of several tokens break the rules of the notation assumed, and another keeps nearly all, that one
    is read, with a warning.

    Raises:
        DataError: the letters belong to no notation, or more than one span in a hundred would be lost; the hint
            names the likely notation.
    """
    with located(path):
        assumed = Notation.of(tag for row in rows for tag in row.tags)
    fit = _fit(path, rows, assumed)
    if fit.lost_share <= MAX_LOST:
        return assumed
    better = _better(rows, assumed)
    counts = f"{fit.n_lost} of {fit.n_lost + fit.n_kept} spans break the rules of {assumed.rule}"
    if better and fit.mostly_lost:
        logger.warning("%s: %s; they are read as %s", path, counts, better.rule)
        return better
    first = next(row.line for row in rows if assumed.spans(row.tags)[1])
    likely = f"the likely notation is {better.rule}: --tags {better.letters}; " if better else ""
    raise DataError(
        f"{path}:{first}: {counts} (this line is the first): they would be lost",
        hint=f"{likely}mend the tags, or accept the loss with --tags {assumed.letters}",
    )


def _fit(path: Path, rows: Sequence[TagRow], notation: Notation) -> Fit:
    fits = []
    for row in rows:
        with located(path, row.line):
            fits.append(notation.fit([row.tags]))
    return Fit(*map(sum, zip(*fits, strict=True)))


def _better(rows: Sequence[TagRow], assumed: Notation) -> Notation | None:
    """Return the notation that keeps most spans, of those that keep nearly all; the earlier of the table at a tie."""
    fits = {}
    for notation in assumed.alternatives():
        try:
            fits[notation] = notation.fit(row.tags for row in rows).lost_share
        except DataError:
            continue  # it lacks a letter
    best = min(fits, key=lambda notation: fits[notation], default=None)
    return best if best and fits[best] <= MAX_LOST else None
