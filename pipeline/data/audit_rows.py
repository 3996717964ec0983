"""The audit of rows that are no articles: how many, their labels and lengths, and what is wrong with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from pipeline.data.formats.kinds import Kind, tagging_form
from pipeline.data.formats.registry import iter_records
from pipeline.data.formats.sentiment import RowKind, category_examples, document_examples, target_examples
from pipeline.data.formats.sentiment.files import SentimentObjects
from pipeline.data.formats.tagging import read_rows
from pipeline.data.names import CATEGORY, TARGET
from pipeline.data.read_report import MAX_PROBLEMS
from pipeline.data.reading import Reading
from pipeline.errors import DataError

_READERS = {
    RowKind.TARGET: target_examples,
    RowKind.CATEGORY: category_examples,
    RowKind.DOCUMENT: document_examples,
}


@dataclass
class RowsAudit:
    """One file."""

    path: str
    kind: str
    n_rows: int = 0
    """Sound ones."""
    n_malformed: int = 0
    malformed_examples: list[str] = field(default_factory=list)
    """The first of them, as ``path:line: reason``."""
    n_repeated_texts: int = 0
    """Rows whose text and label an earlier row has."""
    n_contradicting: int = 0
    """Rows whose text an earlier row has, with another label."""
    labels: dict[str, int] = field(default_factory=dict)
    longest_text: int = 0

    def malformed(self, where: str) -> None:
        """Count a malformed row."""
        self.n_malformed += 1
        if len(self.malformed_examples) < MAX_PROBLEMS:
            self.malformed_examples.append(where)


@dataclass(frozen=True)
class SharedTexts:
    """Two files with texts in common: what is trained on is also measured on."""

    paths: tuple[str, str]
    n_texts: int
    n_rows: tuple[int, int]
    """Rows of each file whose text is in the other."""


def audit_rows(path: Path, kind: Kind, reading: Reading) -> tuple[RowsAudit, Counter[int]]:
    """Audit a file; the hashes of its texts are counted beside it.

    Raises:
        DataError: the file cannot be read at all.
    """
    result = RowsAudit(str(path), kind.value)
    labels: Counter[str] = Counter()
    texts: Counter[int] = Counter()
    seen: dict[int, set[str]] = {}
    found = _marked(path, reading, result) if kind is Kind.ENTITIES else _judged(path, reading, result)
    for key, text, row_labels in found:
        result.n_rows += 1
        labels.update(row_labels)
        result.longest_text = max(result.longest_text, len(text))
        texts[hash(text)] += 1
        label = "\n".join(row_labels)
        known = seen.setdefault(hash(key), set())
        result.n_repeated_texts += label in known
        result.n_contradicting += bool(known) and label not in known
        known.add(label)
    result.labels = dict(labels.most_common())
    return result, texts


def _judged(path: Path, reading: Reading, result: RowsAudit) -> Iterator[tuple[tuple[str, ...], str, list[str]]]:
    """Yield what makes a row one of its own, its text and its labels, for each example of rows with a sentiment."""
    objects = SentimentObjects(path, reading)
    for record in iter_records(path, reading):
        try:
            if record.fault:
                raise DataError(record.fault)
            if not isinstance(record.value, dict):
                raise DataError("not a JSON object")
            row = objects.ours(record.value)
            examples = [] if row is None else list(_READERS[_form(row)](row))
        except DataError as error:
            result.malformed(f"{path}:{record.line}: {_told(error)}")
            continue
        for target, label in examples:
            yield (target.document, target.name, str(target.start)), target.document, [label]
    try:
        objects.tell()
    except DataError as error:
        result.malformed(error.message)


def _form(row: dict[str, Any]) -> RowKind:
    return (
        RowKind.CATEGORY
        if CATEGORY in row and TARGET not in row
        else (RowKind.TARGET if TARGET in row or "targets" in row else RowKind.DOCUMENT)
    )


def _told(error: DataError) -> str:
    return f"{error.message} ({error.hint})" if error.hint else error.message


def _marked(path: Path, reading: Reading, result: RowsAudit) -> Iterator[tuple[tuple[str, ...], str, list[str]]]:
    """Yield the same for rows with marked entities; the first malformed row ends them."""
    try:
        rows = read_rows(path, form=tagging_form(reading)).rows
    except DataError as error:
        result.malformed(_told(error))
        return
    for row in rows:
        yield (row.text,), row.text, [span.label for span in row.spans]


def shared_texts(files: Sequence[RowsAudit], texts: Sequence[Counter[int]]) -> list[SharedTexts]:
    """Return each pair of files that have texts in common."""
    found = []
    for left, right in combinations(range(len(files)), 2):
        common = texts[left].keys() & texts[right].keys()
        if common:
            n_rows = tuple(sum(texts[index][key] for key in common) for index in (left, right))
            found.append(SharedTexts((files[left].path, files[right].path), len(common), (n_rows[0], n_rows[1])))
    return found


def format_rows(files: Sequence[RowsAudit], shared: Sequence[SharedTexts]) -> list[str]:
    """Return the audit as lines of text."""
    lines: list[str] = []
    for item in files:
        labels = ", ".join(f"{label or 'no type'} {count}" for label, count in item.labels.items())
        lines += [
            f"{item.path}: {item.kind}",
            f"  examples                       {item.n_rows}",
            f"  malformed rows                 {item.n_malformed}",
            f"  labels                         {labels or 'none'}",
            f"  longest text (characters)      {item.longest_text}",
            f"  repeat an earlier row          {item.n_repeated_texts}",
            f"  the same text, another label   {item.n_contradicting}",
        ]
        if item.malformed_examples:
            lines.append(f"  Malformed rows ({len(item.malformed_examples)} of {item.n_malformed}):")
            lines += [f"    {example}" for example in item.malformed_examples]
        lines.append("")
    for pair in shared:
        left, right = pair.paths
        lines.append(
            f"{left} and {right} share {pair.n_texts} texts ({pair.n_rows[0]} and {pair.n_rows[1]} examples):"
            " what is trained on must not be measured on"
        )
    if len(files) > 1 and not shared:
        lines.append("The files share no text.")
    return lines
