"""Reading an upload file back: the strict checker that lists every problem, and the reader of ``evaluate``."""

from __future__ import annotations

import logging
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.artifacts import GZIP_MAGIC, BoundedGzip, open_input
from pipeline.errors import DataError
from pipeline.schema import EMOTIONS, MAX_ENTITIES, Entity, emotion_of, occurrence_keys
from pipeline.submission.clean import CONTROLS, LINE_BREAKS, is_invisible

logger = logging.getLogger(__name__)

_BOM = "\ufeff"
_HARMLESS = {
    *("bom", "crlf", "blank line", "missing final LF", "line break", "control character"),
    *("outer blanks", "repeated entity", "emotion spelling"),
}
"""Faults that leave no doubt about the answer: the checker reports them, the reader warns of them and goes on."""


_OTHER_CONTROLS = set(CONTROLS) - set(LINE_BREAKS)


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault of an upload file; ``line`` counts from 1 and is None for the file as a whole."""

    line: int | None
    about: str
    detail: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.about}: {self.detail}" if self.line else f"{self.about}: {self.detail}"


@dataclass(frozen=True, slots=True)
class _Line:
    """A line taken apart as far as it goes; ``news_id`` is None for a blank one."""

    number: int
    news_id: str | None
    names: tuple[str, ...]
    emotions: tuple[str, ...]
    problems: tuple[Problem, ...]


def check_submission(path: Path, ids: Iterable[str]) -> list[Problem]:
    """List every problem of an upload file, in the order of its lines.

    CR LF line ends and a wrong order are reported once, at the first line concerned.

    Args:
        path: the upload file.
        ids: the newsIds of the test file, in its order.

    Raises:
        DataError: the file cannot be read at all.
    """
    wanted = list(ids)
    open_ids = Counter(wanted)
    placed: list[tuple[int, str]] = []
    problems: list[Problem] = []
    once: set[str] = set()
    for line in _scan(path):
        problems += [problem for problem in line.problems if problem.about not in once]
        once |= {problem.about for problem in line.problems} & {"crlf"}
        if line.news_id is None:
            continue
        if open_ids[line.news_id] > 0:
            open_ids[line.news_id] -= 1
            placed.append((line.number, line.news_id))
        else:
            reason = "has an earlier line" if line.news_id in open_ids else "is not in the test file"
            problems.append(Problem(line.number, "duplicate or unexpected id", f"{line.news_id!r} {reason}"))
    problems += _order_problem(wanted, placed)
    problems.sort(key=lambda problem: problem.line or 0)
    missing = [news_id for news_id in dict.fromkeys(wanted) if open_ids[news_id] > 0]
    return problems + [Problem(None, f"missing id {news_id}", "the article has no line") for news_id in missing]


def read_submission(path: Path, times: Mapping[str, int] | None = None) -> dict[str, tuple[Entity, ...]]:
    """Read the entities of an upload file by newsId, in file order.

    Faults that leave no doubt about the answer (BOM, CR LF, blank lines, no final newline, outer
    blanks, repeats) are warned of in the words of the checker, and accepted.

    Args:
        path: the upload file.
        times: how often each newsId may occur, as it does in the file that was answered; once where it is not named.
            Later lines of an id have the keys of ``occurrence_keys``.

    Raises:
        DataError: the file is missing or empty, or a line is malformed; names file and line.
    """
    ids: Counter[str] = Counter()
    answers: list[tuple[str, tuple[Entity, ...]]] = []
    warned: dict[str, Problem] = {}
    counts: Counter[str] = Counter()
    for line in _scan(path):
        for problem in line.problems:
            if problem.about not in _HARMLESS:
                raise DataError(f"{path}:{line.number}: {problem.about}: {problem.detail}")
            counts[problem.about] += 1
            warned.setdefault(problem.about, problem)
        if line.news_id is None:
            continue
        ids[line.news_id] += 1
        if ids[line.news_id] > (times or {}).get(line.news_id, 1):
            raise DataError(f"{path}:{line.number}: newsId {line.news_id!r} has an earlier line")
        pairs = zip(line.names, map(emotion_of, line.emotions), strict=True)
        entities = tuple(Entity(name.strip(), emotion) for name, emotion in pairs if emotion is not None)
        answers.append((line.news_id, entities))
    if not answers:
        raise DataError(f"{path}: holds no line")
    for about, problem in warned.items():
        more = f" (and {counts[about] - 1} more)" if counts[about] > 1 else ""
        logger.warning("%s: %s%s", path, problem, more)
    keys = occurrence_keys(news_id for news_id, _ in answers)
    return {key: entities for key, (_, entities) in zip(keys, answers, strict=True)}


def _order_problem(wanted: list[str], placed: list[tuple[int, str]]) -> list[Problem]:
    """Report the first line out of order; missing and surplus lines do not put the others out of place."""
    found = Counter(news_id for _, news_id in placed)
    expected: list[str] = []
    for news_id in wanted:
        if found[news_id] > 0:
            found[news_id] -= 1
            expected.append(news_id)
    for (number, news_id), other in zip(placed, expected, strict=True):
        if news_id != other:
            return [Problem(number, "wrong order", f"{news_id!r} stands where {other!r} should")]
    return []


def _scan(path: Path) -> Iterator[_Line]:
    """Yield the lines with the faults that show without knowing the test file. Lines end at LF only."""
    try:
        with open_input(path) as packed:
            file = BoundedGzip(path, packed) if packed.peek(2)[:2] == GZIP_MAGIC else packed
            for number, raw in enumerate(file, start=1):
                yield _parse(number, raw)
    except (EOFError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read ({error})") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error


def _parse(number: int, raw: bytes) -> _Line:
    faults: dict[str, str] = {}
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        faults["invalid utf-8"] = f"byte {error.start + 1} of the line: {error.reason}"
        text = raw.decode("utf-8", errors="replace")
    if number == 1 and text.startswith(_BOM):
        faults["bom"] = "the file starts with a byte order mark"
        text = text.removeprefix(_BOM)
    if not text.endswith("\n"):
        faults["missing final LF"] = "the last line does not end in LF"
    text = text.removesuffix("\n")
    if text.endswith("\r"):
        faults["crlf"] = "lines end in CR LF, want LF"
        text = text.removesuffix("\r")
    news_id: str | None = None
    names: tuple[str, ...] = ()
    emotions: tuple[str, ...] = ()
    if not text.strip(" "):
        faults["blank line"] = "want newsId, entities and emotions"
    else:
        fields = text.split("\t")
        news_id = fields[0]
        if len(fields) == 3:
            names, emotions = _split(fields[1]), _split(fields[2])
            faults |= _answer_faults(names, emotions)
        else:
            faults["wrong number of tab fields"] = f"{len(fields)}, want 3 (newsId, entities, emotions between tabs)"
    problems = tuple(Problem(number, about, detail) for about, detail in faults.items())
    return _Line(number, news_id, names, emotions, problems)


def _split(field: str) -> tuple[str, ...]:
    return tuple(field.split(",")) if field else ()


def _answer_faults(names: tuple[str, ...], emotions: tuple[str, ...]) -> dict[str, str]:
    faults: dict[str, str] = {}
    if len(names) != len(emotions):
        faults["count mismatch"] = f"entities {len(names)}, emotions {len(emotions)}"
    unknown = [emotion for emotion in emotions if emotion_of(emotion) is None]
    if unknown:
        faults["unknown emotion"] = f"{', '.join(map(repr, unknown))}, want {', '.join(EMOTIONS)}"
    if spelled := [emotion for emotion in emotions if emotion not in EMOTIONS and emotion not in unknown]:
        faults["emotion spelling"] = f"{', '.join(map(repr, spelled))}, want {', '.join(EMOTIONS)}"
    if len(names) > MAX_ENTITIES:
        faults["more than three entities"] = f"{len(names)}"
    for about, found in {
        "empty entity": [name for name in names if is_invisible(name)],
        "repeated entity": [name for name, count in Counter(map(str.strip, names)).items() if count > 1],
        "outer blanks": [name for name in names if name != name.strip() and not is_invisible(name)],
        "line break": [name for name in names if any(char in LINE_BREAKS for char in name)],
        "control character": [name for name in names if any(char in _OTHER_CONTROLS for char in name)],
    }.items():
        if found:
            faults[about] = ", ".join(map(repr, found))
    return faults
