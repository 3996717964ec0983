"""Rows with a sentiment under our keys, whatever the file calls them; what was taken for what is told once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from reprlib import repr as short_repr
from typing import Any

from pipeline.artifacts import AnyFile
from pipeline.data.formats.registry import iter_objects, iter_records
from pipeline.data.formats.sentiment.readers import GROUP, TARGETS
from pipeline.data.labels import LabelReader, is_number, spelt
from pipeline.data.lines import tell
from pipeline.data.names import (
    CATEGORY,
    FROM,
    LABEL,
    NEWS_ID,
    OCCURRENCE,
    POLARITY,
    TARGET,
    TEXT,
    TO,
    alias_in,
)
from pipeline.data.reading import Reading
from pipeline.errors import DataError
from pipeline.text.script import ScriptCount

_MAY_BE_EMPTY = {GROUP: None, FROM: None, TO: None, OCCURRENCE: None, CATEGORY: TARGET, TARGET: CATEGORY}
"""Empty cells of a table that stand for a key that is not there, where the other one is."""
_OF_TEXTS = (TEXT, GROUP)
_READ = (*_OF_TEXTS, TARGET, TARGETS, CATEGORY, POLARITY, LABEL, FROM, TO, OCCURRENCE)


def iter_sentiment_objects(path: AnyFile, reading: Reading | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the numbered rows of a file with text, target, polarity, label under our names; articles as they are.

    Polarities become POS, NORM, NEG. Targets that are not in their text are left out, and so are rows whose label the
    user said to skip; both are counted. Rows need no label here.

    Raises:
        ConfigError: there is no such format or encoding.
        DataError: the file cannot be read, a row is no object, nobody said what a label means (file and line are
            named), or none of the targets is in its text.
    """
    file = SentimentObjects(path, reading or Reading())
    for number, row in iter_objects(path, reading):
        try:
            found = file.ours(row)
        except DataError as error:
            raise DataError(f"{path}:{number}: {error.message}", hint=error.hint) from error
        if found is not None:
            yield number, found
    file.tell()


class SentimentObjects:
    """Turns the rows of one file into ours, and remembers what there is to tell."""

    def __init__(self, path: AnyFile, reading: Reading) -> None:
        self._path, self._reading = path, reading
        self._labels: LabelReader | None = None
        self._documents: LabelReader | None = LabelReader(reading.labels) if reading.labels.given else None
        self._script = ScriptCount()
        self._read: tuple[str, ...] = _READ
        self._unread: Counter[str] = Counter()
        self._renamed: dict[str, str] = {}
        self._n_found = self._n_absent = 0
        self._first_absent = ""

    def ours(self, row: dict[str, Any]) -> dict[str, Any] | None:
        """Return a row under our keys; None where it is to be left out.

        Raises:
            DataError: nobody said what its label means; the message is the reason, without file and line.
        """
        if NEWS_ID in row:
            return row
        row = self._named(row)
        if isinstance(text := row.get(TEXT), str):
            self._script.add(text)
        if TARGETS in row:
            return self._with_targets(row)
        if TARGET not in row and CATEGORY not in row:
            return self._document(row)
        if TARGET in row and not self._is_found(row, row.get(TEXT)):
            return None
        return self._with_polarity(row)

    def unlabelled(self, row: dict[str, Any], *, has_targets: bool) -> dict[str, Any]:
        """Return a row under our keys; its labels are not looked at, and without targets nothing but its text is.

        Whether a target is in its text is for its reader to judge: every row is to be answered.
        """
        if NEWS_ID in row:
            return row
        self._read = _READ if has_targets else _OF_TEXTS
        return self._named({key: value for key, value in row.items() if not _is_label(key)})

    def tell(self) -> None:
        """Log what rows were read as.

        Raises:
            DataError: no target was found.
        """
        if self._n_absent and not self._n_found:
            raise DataError(
                f"{self._path}: none of its {self._n_absent} targets is in its text (first: {self._first_absent})",
                hint=f"names that need not be in the text are categories: --columns category={self._theirs(TARGET)}",
            )
        lines = [reader.summary() for reader in (self._labels, self._documents) if reader]
        if self._renamed:
            pairs = ", ".join(f"{theirs} as {ours}" for ours, theirs in self._renamed.items())
            lines.append(f"columns read: {pairs} (--columns settles it)")
        if self._unread:
            lines.append(f"not read beside the text: {', '.join(self._unread)}")
        if self._n_absent:
            lines.append(
                f"{self._n_absent} of {self._n_absent + self._n_found} targets are not in their text and were left out"
                f" (first: {self._first_absent})"
            )
        for line in (*lines, self._script.warning()):
            if line:
                tell(f"{self._path}: {line}")

    def _theirs(self, ours: str) -> str:
        return self._renamed.get(ours, ours)

    def _named(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return the row under our keys; where a target is named, its label is a polarity."""
        row = dict(row)
        for key, other in _MAY_BE_EMPTY.items():
            if row.get(key) == "" and (other is None or row.get(other)):
                del row[key]
        self._rename(row, TEXT)
        if TARGET in self._read and TARGETS not in row and CATEGORY not in row:
            self._rename(row, TARGET)
        has_target = any(key in row for key in (TARGET, TARGETS, CATEGORY))
        self._rename(row, POLARITY if has_target else LABEL)
        if TARGET in row:
            for key in (FROM, TO, OCCURRENCE):
                self._rename(row, key)
                if isinstance(value := row.get(key), str):  # a cell of a table
                    row[key] = int(value) if value.isdecimal() and len(value) < 10 else value.strip() or None
        for key in row:
            if key not in self._read:
                self._unread[key] += 1
        return row

    def _rename(self, row: dict[str, Any], ours: str) -> None:
        if row.get(ours) is not None:
            return
        theirs = alias_in((key for key in row if key not in _READ or key in (LABEL, POLARITY)), ours)
        if theirs is not None and row[theirs] is not None:
            row[ours] = row.pop(theirs)
            self._renamed[ours] = theirs

    def _document(self, row: dict[str, Any]) -> dict[str, Any] | None:
        label = row.get(LABEL)
        if self._documents is None or spelt(label) not in self._reading.labels.meanings:
            return row
        emotion = self._documents.read(label)
        return None if emotion is None else {**row, LABEL: emotion.value}

    def _with_targets(self, row: dict[str, Any]) -> dict[str, Any] | None:
        entries = row[TARGETS]
        if not isinstance(entries, list):
            return row  # refused by its reader
        kept = []
        for entry in entries:
            if not isinstance(entry, dict):
                return row
            if self._is_found(entry, row.get(TEXT)) and (found := self._with_polarity(entry)) is not None:
                kept.append(found)
        return {**row, TARGETS: kept} if kept or not entries else None

    def _is_found(self, entry: dict[str, Any], text: object) -> bool:
        """Tell whether the target is in its text; one with a place, or that is no text, is for its reader to judge."""
        name = entry.get(TARGET)
        if not (isinstance(text, str) and isinstance(name, str) and name.strip()) or entry.get(FROM) is not None:
            return True
        if name in text:
            self._n_found += 1
            return True
        self._n_absent += 1
        self._first_absent = self._first_absent or short_repr(name)
        return False

    def _with_polarity(self, entry: dict[str, Any]) -> dict[str, Any] | None:
        polarity = entry.get(POLARITY)
        if not spelt(polarity):
            return entry  # none, or nothing that a label can be: its reader says so
        if self._labels is None or (is_number(spelt(polarity)) and not self._labels.knows_numbers):
            self._labels = self._reader(with_numbers=is_number(spelt(polarity)))
        emotion = self._labels.read(polarity)
        return None if emotion is None else {**entry, POLARITY: emotion.value}

    def _reader(self, *, with_numbers: bool) -> LabelReader:
        """Return a reader of labels; only where a number is met are all labels of the file looked at."""
        numbers = frozenset(self._numbers()) if with_numbers else None
        reader = LabelReader(self._reading.labels, numbers)
        if self._labels is not None:
            reader.counts.update(self._labels.counts)
        return reader

    def _numbers(self) -> Iterator[str]:
        names = SentimentObjects(self._path, self._reading)
        for record in iter_records(self._path, self._reading):
            if isinstance(record.value, dict) and NEWS_ID not in record.value:
                row = names._named(record.value)
                entries = row.get(TARGETS)
                for entry in entries if isinstance(entries, list) else [row]:
                    label = spelt(entry.get(POLARITY)) if isinstance(entry, dict) else ""
                    if is_number(label):
                        yield label


def _is_label(key: str) -> bool:
    """Tell a key under which rows have their label, whatever it is called."""
    return key in (POLARITY, LABEL) or any(alias_in([key], ours) for ours in (POLARITY, LABEL))
