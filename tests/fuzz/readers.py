"""Every reader on files that are mostly as they should be: rows, or one line; no other error, and no wait."""

from __future__ import annotations

import gzip
import io
import os
import random
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

from pipeline.data.audit import audit, format_audit
from pipeline.data.formats.convert import Wanted, convert
from pipeline.data.formats.kinds import kind_of
from pipeline.data.formats.pair_rows import PairWriter, iter_pairs, table_separator
from pipeline.data.formats.registry import FORMATS
from pipeline.data.formats.tagging import FORMATS as TAG_FORMATS
from pipeline.data.formats.tagging import Form, Notation, RowWriter
from pipeline.data.formats.tagging import iter_rows as iter_tag_rows
from pipeline.data.formats.tagging import read_rows as read_tag_rows
from pipeline.data.labels import LabelMap
from pipeline.data.read import BadRowPolicy, Reading, iter_articles
from pipeline.data.reading import parse_columns, parse_label_map, parse_types
from pipeline.errors import ConfigError, DataError, PipelineError
from pipeline.standalone.heads.rows import read_rows as read_sentiment_rows
from pipeline.standalone.heads.unlabelled import iter_unlabelled
from pipeline.text.dictionary import load_dictionary

from . import plain_text
from .inputs import COUNTS, TRAPS, Maker
from .rows import SHAPES, as_text, renamed, strange

LONG_ROWS = int(os.environ.get("FUZZ_ROWS", "1000000"))
SEED = int(os.environ.get("FUZZ_SEED", "0"))
"""The same seed makes the same files."""
MAX_SECONDS = 60.0
"""Of one file: more is a hang."""
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "gb18030", "gbk", "big5", "cp1252", "shift_jis")
SIZES = (1, 3, 30, 300, 1500)
OBJECTS, TABLES = ("lines", "lines", "array", "pretty"), ("csv", "tsv", "semicolons")
SUFFIXES = ("jsonl", "json", "csv", "tsv", "txt", "seg", "xml", "ann", "bio", "dat")
MAX_CHARS = 384
Reader = Callable[[Path, Maker], Iterable[object]]


@dataclass(frozen=True)
class Source:
    """Files of one kind.

    Args:
        write: text of a file of so many rows.
        readers: each reads the file in its own way.
        suffix: usual end of the name.
    """

    write: Callable[[Maker, int], str]
    readers: tuple[Reader, ...]
    suffix: str


def fuzz(name: str, n_rows: int, folder: Path) -> int:
    """Read files of a kind until so many rows are through; return how many there were.

    Of a file those count that the reader which came farthest read, or refused. A failure names the seed of its file,
    which lies in the folder.
    """
    source, done = SOURCES[name], 0
    for number in count():
        if done >= n_rows:
            break
        maker = Maker([], 0)
        maker.rng = random.Random(f"{name} {SEED} {number}")
        maker._pieces = maker.rng.sample(TRAPS, 24)
        size = min(maker.rng.choice(SIZES), n_rows)
        path = _written(maker, source, size, folder)
        n_read = 1
        try:
            for reader in source.readers:
                with _in_time():
                    n_read = max(n_read, _read_or_refused(reader, path, maker))
        except BaseException as error:
            error.add_note(f"kind {name}, FUZZ_SEED={SEED}, file {number}: {path} begins {path.read_bytes()[:300]!r}")
            raise
        path.unlink()
        done += min(n_read, size)
    COUNTS[f"rows of {name}"] += done
    return done


def _written(maker: Maker, source: Source, size: int, folder: Path) -> Path:
    """Write a file: in some encoding, one in three damaged, some under the name of another kind, some packed."""
    rng = maker.rng
    encoding = rng.choice(ENCODINGS) if rng.random() < 0.4 else "utf-8"
    text = source.write(maker, size)
    as_utf8 = "surrogatepass" if rng.random() < 0.1 else "replace"
    content = text.encode(encoding, as_utf8 if encoding == "utf-8" else "replace")
    if rng.random() < 0.33:
        content = maker.damaged(content)
    suffix = source.suffix if rng.random() < 0.8 else rng.choice(SUFFIXES)
    path = folder / f"rows.{suffix}"
    if rng.random() < 0.05:
        path = path.with_name(f"{path.name}.gz")
        content = gzip.compress(content, 1)
        content = maker.damaged(content) if rng.random() < 0.3 else content
    path.write_bytes(content)
    if suffix == "ann":
        path.with_suffix(".txt").write_text("青禾\n" * max(SIZES), encoding="utf-8")
    return path


def _read_or_refused(read: Reader, path: Path, maker: Maker) -> int:
    """Read a file to its end, and return how many rows; what refuses it says so in one line, and where."""
    n_rows = 0
    refused: PipelineError | None = None
    try:
        for _ in read(path, maker):
            n_rows += 1
    except (DataError, ConfigError) as error:
        refused = error
    if refused:
        assert refused.message.strip()
        assert len(f"{refused.message}{refused.hint or ''}".splitlines()) == 1
        assert str(path.parent) in refused.message or isinstance(refused, ConfigError)
    return n_rows + (refused is not None)


@contextmanager
def _in_time() -> Iterator[None]:
    """Fail what takes too long."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"not read in {MAX_SECONDS:.0f} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, MAX_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# --- how files are read


def _reading(maker: Maker) -> Reading:
    """Return options as somebody may give them: mostly none."""
    rng = maker.rng
    name = rng.choice([*FORMATS]) if rng.random() < 0.1 else None
    encoding = rng.choice(ENCODINGS) if rng.random() < 0.1 else None
    columns = {"text": rng.choice(["text", "content", "句子"]), "x": ""} if rng.random() < 0.1 else {}
    numbers = {"0": "NEG", "1": "POS", "2": "skip", "冲突": "skip"}
    return Reading(name, encoding, columns, LabelMap(numbers if rng.random() < 0.5 else {}))


def _form(maker: Maker) -> Form:
    rng = maker.rng
    return Form(
        rng.choice([*TAG_FORMATS]) if rng.random() < 0.2 else None,
        rng.choice(ENCODINGS) if rng.random() < 0.1 else None,
        rng.choice(["BIO", "IOB1", "BIOES", "IO", "WORD", "x"]) if rng.random() < 0.2 else "",
        ("O", "B-PER", "I-PER") if rng.random() < 0.2 else (),
        {"text": "sentence"} if rng.random() < 0.05 else {},
        {"PER": "人", "LOC": "skip"} if rng.random() < 0.2 else {},
    )


def _articles(path: Path, maker: Maker) -> Iterable[object]:
    labelled = maker.rng.choice([True, False, None])
    return iter_articles(path, labelled=labelled, policy=maker.rng.choice([*BadRowPolicy]), reading=_reading(maker))


def _heads(path: Path, maker: Maker) -> Iterable[object]:
    return read_sentiment_rows(path, max_context_chars=MAX_CHARS, reading=_reading(maker)).rows


def _unlabelled(path: Path, maker: Maker) -> Iterable[object]:
    has_targets = maker.rng.random() < 0.5
    for row in iter_unlabelled(path, has_targets=has_targets, max_context_chars=MAX_CHARS, reading=_reading(maker)):
        yield row.answered([{"predicted": "x"} for _ in row.examples])
        yield row.flat()


def _pairs(path: Path, maker: Maker) -> Iterable[object]:
    """Read pairs, and write each again."""
    reading = _reading(maker)
    writer = PairWriter(table_separator(path, reading))
    for row in iter_pairs(path, labelled=maker.rng.random() < 0.5, reading=reading):
        yield writer.lines(row, 0.5, 1)


def _marked(path: Path, maker: Maker) -> Iterable[object]:
    """Read labelled rows, and write each again."""
    found = read_tag_rows(path, form=_form(maker), keeps_rules=maker.rng.random() < 0.5)
    notation = found.notation or Notation()
    writer = RowWriter(io.StringIO(newline=""), notation)
    for row in found.rows:
        yield writer.write(row, () if row.tokens else row.spans)


def _untagged(path: Path, maker: Maker) -> Iterable[object]:
    return iter_tag_rows(path, form=_form(maker))


def _audited(path: Path, maker: Maker) -> Iterable[object]:
    return [format_audit(audit([path], _reading(maker)))]


def _converted(path: Path, maker: Maker) -> Iterable[object]:
    policy = maker.rng.choice([*BadRowPolicy])
    target = path.parent / maker.rng.choice(["out.jsonl", "out.csv", "out.json.gz"])
    reading = _reading(maker)
    wanted = Wanted(kind_of(path, reading).value) if maker.rng.random() < 0.9 else maker.rng.choice([*Wanted])
    return range(convert(path, target, wanted, reading=reading, policy=policy))


def _dictionary(path: Path, maker: Maker) -> Iterable[object]:
    return range(load_dictionary(path, min_chars=maker.rng.randint(1, 2)).n_read)


def _options(path: Path, maker: Maker) -> Iterable[object]:
    """Take each line for a list of columns, of labels, of types, and a name of an encoding."""
    from pipeline.text.encodings import codec_of

    for line in path.read_bytes().decode("utf-8", "replace").splitlines():
        for parse in (parse_columns, parse_label_map, parse_types, codec_of):
            with suppress(ConfigError):
                yield parse(line)


def _shaped(name: str) -> Callable[[Maker, int], str]:
    """Return what writes rows of a shape: under other names, strange, or in another layout."""
    shape = SHAPES[name]

    def write(maker: Maker, size: int) -> str:
        rng = maker.rng
        rows: list[Any] = [shape.make(maker) for _ in range(size)]
        if shape.keys and rng.random() < 0.3:
            rows = renamed(maker, rows, [key for key in shape.keys if rng.random() < 0.7])
        share = rng.choice([0, 0, 0.5 / size, 0.02, 0.3])
        rows = [strange(maker, row) if rng.random() < share else row for row in rows]
        is_table = rng.random() < (0.4 if shape.fits_tables else 0.02)
        return as_text(maker, rows, rng.choice(TABLES if is_table else OBJECTS))

    return write


def _option_lines(maker: Maker, size: int) -> str:
    pieces = ("=", ",", "2=POS", "text=句", "conflict=skip", "PER=人", "", " ", "utf-8", "gbk", "idna", "base64", "hex")
    return "".join(
        f"{''.join(maker.rng.choices((*pieces, *TRAPS), k=3))}\n".replace("\n", "") + "\n" for _ in range(size)
    )


_ANY = (_audited, _converted)
_SENTIMENT = (_heads, _unlabelled, *_ANY)
_TAGGED = (_marked, _untagged, *_ANY)
SOURCES: dict[str, Source] = {
    "articles": Source(_shaped("articles"), (_articles, *_SENTIMENT), "jsonl"),
    **{name: Source(_shaped(name), _SENTIMENT, "jsonl") for name in ("targets", "categories", "documents")},
    "triples": Source(plain_text.triples, _SENTIMENT, "seg"),
    "atepc": Source(plain_text.atepc, _SENTIMENT, "txt"),
    "semeval": Source(plain_text.semeval, _SENTIMENT, "xml"),
    "sohu2022": Source(plain_text.sohu, _SENTIMENT, "txt"),
    "pairs": Source(_shaped("pairs"), (_pairs, *_ANY), "jsonl"),
    **{
        name: Source(_shaped(name), _TAGGED, "json")
        for name in ("entities", "tokens", "doccano", "cluener", "labelstudio", "spacy", "table")
    },
    "columns": Source(plain_text.columns, _TAGGED, "bio"),
    "brat": Source(plain_text.brat, _TAGGED, "ann"),
    "text": Source(plain_text.lines, _TAGGED, "txt"),
    "dictionaries": Source(plain_text.names, (_dictionary,), "txt"),
    "options": Source(_option_lines, (_options,), "txt"),
}
