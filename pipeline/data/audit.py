"""What is in data files and what is wrong with them; nothing stops an audit but a file that cannot be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.data.audit_rows import RowsAudit, SharedTexts, audit_rows, format_rows, shared_texts
from pipeline.data.formats.kinds import Kind, kind_of
from pipeline.data.near_duplicates import NearDuplicates
from pipeline.data.read import BadRow, Reading, ReadReport, align_gold, iter_rows
from pipeline.data.repeats import RepeatedIds
from pipeline.schema import EMOTIONS, Article

LONG_ARTICLE_CHARS = 512
"""What a BERT encoder reads at once."""


@dataclass(frozen=True)
class LengthSummary:
    """Characters of a text: 10 %, 50 % and 90 % of the articles are at most this long, and the longest is."""

    p10: int = 0
    p50: int = 0
    p90: int = 0
    longest: int = 0

    @classmethod
    def of(cls, lengths: Sequence[int]) -> LengthSummary:
        """Summarise the lengths of some texts."""
        if not lengths:
            return cls()
        return cls(*np.percentile(lengths, (10, 50, 90, 100), method="inverted_cdf").astype(int).tolist())


@dataclass
class FileAudit:
    """One file. Articles are counted unless a name says entities; entities are gold entities after clean-up."""

    path: str
    n_articles: int = 0
    n_labelled: int = 0
    reading: dict[str, Any] = field(default_factory=dict)
    """Malformed rows with their lines, and what was mended (``ReadReport.to_dict``)."""
    n_repeated_ids: int = 0
    """Rows whose newsId an earlier row has."""
    n_repeated_other_text: int = 0
    """Of these, rows with another text than the first."""
    n_contradicting_labels: int = 0
    """Of the others, rows with other labels than the first."""
    repeated_examples: list[str] = field(default_factory=list)
    """The first of them, each with both places and what differs."""
    n_empty_texts: int = 0
    n_truncated: int = 0
    n_long: int = 0
    lengths: dict[str, LengthSummary] = field(default_factory=dict)
    entities_per_article: dict[str, int] = field(default_factory=dict)
    emotions: dict[str, int] = field(default_factory=dict)
    n_mixed_emotions: int = 0
    n_entities: int = 0
    n_entities_in_title: int = 0
    n_entities_absent: int = 0
    """Not in the text as written: out of reach for anything that only copies from the text."""
    n_entities_absent_matched: int = 0
    """Of the absent ones, those that match once width, case and blanks are normalised."""
    n_entities_once: int = 0
    n_entities_twice_or_more: int = 0
    n_near_duplicate_groups: int = 0
    n_near_duplicates: int = 0
    """Articles that have a near-duplicate in the same file."""


@dataclass
class FileOverlap:
    """What two files share; in training and test files it is a leak."""

    paths: tuple[str, str]
    n_shared_ids: int
    n_other_text: int
    """Shared newsIds that stand for another text in the other file."""
    n_near_duplicates: tuple[int, int]
    """Articles of each file that have a near-duplicate in the other."""


@dataclass
class AuditReport:
    """The files one by one, and each pair of files that shares something."""

    files: list[FileAudit]
    overlaps: list[FileOverlap]
    rows: list[RowsAudit] = field(default_factory=list)
    """Files of other rows than articles."""
    shared_texts: list[SharedTexts] = field(default_factory=list)

    @property
    def n_malformed(self) -> int:
        """Malformed rows of all files."""
        return sum(item.reading["bad_row"] for item in self.files) + sum(item.n_malformed for item in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-ready values."""
        return asdict(self)


def audit(paths: Sequence[Path], reading: Reading | None = None) -> AuditReport:
    """Audit files, labelled or not. Texts are not kept: 80,000 articles fit into some 400 MB.

    Raises:
        ConfigError: there is no such format or encoding.
        DataError: a file cannot be read at all.
    """
    reading = reading or Reading()
    paths = list(dict.fromkeys(paths))  # a file named twice would share everything with itself
    kinds = {path: kind_of(path, reading) for path in paths}
    others = [audit_rows(path, kind, reading) for path, kind in kinds.items() if kind is not Kind.ARTICLES]
    report = _audit_articles([path for path, kind in kinds.items() if kind is Kind.ARTICLES], reading)
    report.rows = [item for item, _ in others]
    report.shared_texts = shared_texts(report.rows, [texts for _, texts in others])
    return report


def _audit_articles(paths: Sequence[Path], reading: Reading) -> AuditReport:
    found = NearDuplicates()
    file_of: list[int] = []
    ids: list[dict[str, int]] = []
    files: list[FileAudit] = []
    for number, path in enumerate(paths):
        ids.append({})
        tally = _Tally(FileAudit(str(path)))
        report = ReadReport(repeats=RepeatedIds())
        for row in iter_rows(path, labelled=None, report=report, reading=reading):
            if isinstance(row, BadRow):
                continue
            tally.add(row)
            ids[number].setdefault(row.news_id, hash((row.title, row.content)))
            found.add(f"{number}/{len(file_of)}", row.title, row.content)
            file_of.append(number)
        files.append(tally.finish(report))
    members: dict[int, Counter[int]] = {}
    for number, group in zip(file_of, found.groups(), strict=True):
        members.setdefault(group, Counter())[number] += 1
    for counts in members.values():
        for number, n_articles in counts.items():
            if n_articles > 1:
                files[number].n_near_duplicate_groups += 1
                files[number].n_near_duplicates += n_articles
    return AuditReport(files, _overlaps(files, ids, members))


def _overlaps(
    files: Sequence[FileAudit], ids: Sequence[dict[str, int]], members: dict[int, Counter[int]]
) -> list[FileOverlap]:
    near: dict[tuple[int, int], Counter[int]] = {}
    for counts in members.values():
        for pair in combinations(sorted(counts), 2):
            near.setdefault(pair, Counter()).update({number: counts[number] for number in pair})
    overlaps = []
    for left, right in combinations(range(len(files)), 2):
        shared = ids[left].keys() & ids[right].keys()
        n_near = near.get((left, right), Counter())
        if shared or n_near:
            paths = (files[left].path, files[right].path)
            n_other_text = sum(ids[left][news_id] != ids[right][news_id] for news_id in shared)
            overlaps.append(FileOverlap(paths, len(shared), n_other_text, (n_near[left], n_near[right])))
    return overlaps


class _Tally:
    """Adds up the articles of one file."""

    def __init__(self, result: FileAudit) -> None:
        self._result = result
        self._lengths: dict[str, list[int]] = {"title": [], "content": [], "together": []}
        self._histogram: Counter[int] = Counter()
        self._emotions: Counter[str] = Counter({str(emotion): 0 for emotion in EMOTIONS})

    def add(self, article: Article) -> None:
        sizes = len(article.title), len(article.content)
        for lengths, size in zip(self._lengths.values(), (*sizes, sum(sizes)), strict=True):
            lengths.append(size)
        self._result.n_articles += 1
        self._result.n_truncated += article.truncated
        self._result.n_long += sum(sizes) > LONG_ARTICLE_CHARS
        self._result.n_empty_texts += not (article.title.strip() or article.content.strip())
        if article.entities is not None:
            self._add_labels(article)

    def _add_labels(self, article: Article) -> None:
        entities = article.entities or ()
        result = self._result
        result.n_labelled += 1
        result.n_entities += len(entities)
        result.n_mixed_emotions += len({entity.emotion for entity in entities}) > 1
        self._histogram[len(entities)] += 1
        self._emotions.update(str(entity.emotion) for entity in entities)
        n_absent = 0
        for entity in entities:
            n_mentions = article.title.count(entity.name) + article.content.count(entity.name)
            n_absent += n_mentions == 0
            result.n_entities_once += n_mentions == 1
            result.n_entities_twice_or_more += n_mentions > 1
            result.n_entities_in_title += entity.name in article.title
        result.n_entities_absent += n_absent
        result.n_entities_absent_matched += n_absent - len(align_gold(article)[1])

    def finish(self, report: ReadReport) -> FileAudit:
        result = self._result
        result.reading = report.to_dict()
        if repeats := report.repeats:
            result.n_repeated_ids = repeats.n_rows
            result.n_repeated_other_text, result.n_contradicting_labels = repeats.n_other_text, repeats.n_contradicting
            result.repeated_examples = list(map(str, repeats.examples))
        result.lengths = {name: LengthSummary.of(lengths) for name, lengths in self._lengths.items()}
        result.entities_per_article = {str(n): count for n, count in sorted(self._histogram.items())}
        result.emotions = dict(self._emotions)
        return result


def format_audit(report: AuditReport) -> str:
    """Return the report as text: a column for each file of articles, malformed rows, overlaps; then other rows."""
    others = format_rows(report.rows, report.shared_texts)
    if not report.files:
        return "\n".join(others).rstrip()
    lines = [f"[{number}] {item.path}" for number, item in enumerate(report.files, 1)]
    columns = [dict(_rows(item)) for item in report.files]
    labels = list(dict.fromkeys(label for column in columns for label in column))
    cells = [["", *(f"[{number}]" for number in range(1, len(columns) + 1))]]
    cells += [[label, *(column.get(label, "-") for column in columns)] for label in labels]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines.append("")
    for label, *values in cells:
        aligned = [value.rjust(width) for value, width in zip(values, widths[1:], strict=True)]
        lines.append("  ".join([label.ljust(widths[0]), *aligned]).rstrip())
    for item in report.files:
        if examples := item.reading["bad_row_examples"]:
            lines += ["", f"Malformed rows of {item.path} ({len(examples)} of {item.reading['bad_row']}):"]
            lines += [f"  {example}" for example in examples]
        if item.repeated_examples:
            about = f"{item.n_repeated_other_text} with another text"
            about += f", {item.n_contradicting_labels} with contradicting labels"
            lines += ["", f"Rows of {item.path} that repeat a newsId ({item.n_repeated_ids}: {about}):"]
            lines += [f"  {example}" for example in item.repeated_examples]
    lines += [
        "",
        "Shared between files:" if report.overlaps else "The files share neither newsIds nor near-duplicates.",
    ]
    numbers = {item.path: f"[{number}]" for number, item in enumerate(report.files, 1)}
    for overlap in report.overlaps:
        left, right = (numbers[path] for path in overlap.paths)
        n_left, n_right = overlap.n_near_duplicates
        near = f"near-duplicates: {n_left} articles of {left}, {n_right} of {right}"
        other = f" ({overlap.n_other_text} with another text)" if overlap.n_other_text else ""
        lines.append(f"  {left} and {right}: {overlap.n_shared_ids} newsIds{other}; {near}")
    return "\n".join([*lines, *([""] if others else []), *others]).rstrip()


def _rows(item: FileAudit) -> list[tuple[str, str]]:
    def share(count: int, total: int) -> str:
        return f"{count} ({count / total:.1%})" if total else str(count)

    rows = [
        ("articles", str(item.n_articles)),
        ("malformed rows", str(item.reading["bad_row"])),
        ("repeated newsIds", str(item.n_repeated_ids)),
        ("near-duplicates within the file", share(item.n_near_duplicates, item.n_articles)),
        ("  groups they form", str(item.n_near_duplicate_groups)),
        ("empty texts", str(item.n_empty_texts)),
        ("truncated rows", str(item.n_truncated)),
        ("texts with broken characters", str(item.reading["lone_surrogate"])),
        (f"longer than {LONG_ARTICLE_CHARS} characters", share(item.n_long, item.n_articles)),
    ]
    for name, length in item.lengths.items():
        label = f"characters, {name} (10/50/90 %, longest)"
        rows.append((label, f"{length.p10}/{length.p50}/{length.p90}, {length.longest}"))
    rows.append(("labelled articles", str(item.n_labelled)))
    if not item.n_labelled:
        return rows
    rows += [
        (f"  with {number} {'entity' if number == '1' else 'entities'}", share(count, item.n_labelled))
        for number, count in item.entities_per_article.items()
    ]
    return [
        *rows,
        ("  with different emotions", share(item.n_mixed_emotions, item.n_labelled)),
        ("entities", str(item.n_entities)),
        *((f"  {emotion}", share(count, item.n_entities)) for emotion, count in item.emotions.items()),
        ("  in the title", share(item.n_entities_in_title, item.n_entities)),
        ("  mentioned once", share(item.n_entities_once, item.n_entities)),
        ("  mentioned twice or more", share(item.n_entities_twice_or_more, item.n_entities)),
        ("  not in the text as written", share(item.n_entities_absent, item.n_entities)),
        ("    of these in it once normalised", str(item.n_entities_absent_matched)),
        ("repeated entities left out", str(item.reading["repeated_entity"])),
        ("empty entities left out", str(item.reading["empty_entity"])),
    ]
