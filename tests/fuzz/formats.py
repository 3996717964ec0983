"""Properties of people's own files: any bytes, in any format, are read or refused in one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from pipeline.data.audit import audit, format_audit
from pipeline.data.formats import tagging
from pipeline.data.formats.registry import FORMATS, iter_records
from pipeline.data.formats.sentiment import iter_sentiment_objects
from pipeline.data.read import BadRowPolicy, Reading, iter_articles
from pipeline.errors import ConfigError, DataError
from pipeline.text.dictionary import load_dictionary

from .inputs import Maker, naming

ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "gb18030", "big5")
NAMES = ("rows.jsonl", "rows.json", "rows.csv", "rows.tsv", "rows.txt", "rows.seg", "rows.xml", "rows")
KEYS = ("newsId", "id", "title", "content", "text", "target", "aspect", "label", "polarity", "from", "to", "标签")


def formats(maker: Maker, size: int, folder: Path) -> None:
    """No reader, told what the file is or not, ends in anything but rows or one line."""
    rng = maker.rng
    lines = [_line(maker, rng.choice(_LINES)) for _ in range(max(1, size))]
    content = "\n".join(lines).encode(rng.choice(ENCODINGS), "replace")
    path = folder / rng.choice(NAMES)
    path.write_bytes(maker.damaged(content) if rng.random() < 0.5 else content)
    reading = Reading(rng.choice([None, *FORMATS, *tagging.FORMATS]), rng.choice([None, None, *ENCODINGS]))
    readers: list[Callable[[], object]] = [
        lambda: list(iter_records(path, reading)),
        lambda: list(iter_articles(path, policy=BadRowPolicy.SKIP, reading=reading)),
        lambda: list(iter_sentiment_objects(path, reading)),
        lambda: format_audit(audit([path], reading)),
        lambda: load_dictionary(path, min_chars=1),
    ]
    for read in readers:
        naming(lambda _: _read_or_refused(read), (path.name, reading, path.read_bytes()[:400]))  # noqa: B023
    path.unlink()


def _read_or_refused(read: Callable[[], object]) -> None:
    message = "read"
    try:
        read()
    except (DataError, ConfigError) as error:
        message = error.message
    assert message
    assert "\n" not in message


def _line(maker: Maker, form: str) -> str:
    rng = maker.rng
    values = [maker.text(3).replace("\n", " ") for _ in range(4)]
    if form == "json":
        strange = [
            None,
            7,
            -1,
            True,
            [],
            {},
            maker.text(2),
            [{"target": values[0], "polarity": rng.choice(["1", 0, "x"])}],
        ]
        row = {key: rng.choice([values[0], rng.choice(strange)]) for key in rng.sample(KEYS, 4)}
        return json.dumps(row, ensure_ascii=rng.random() < 0.3)
    return form.format(*values, rng.choice(["POS", "-1", "0", "1", "-100", "正面", "冲突"]))


_LINES = (
    *("json", "json", "json", "[", "]", ",", "", "newsId,title,content", "text,target,label", "text\tlabel"),
    *("{0},{1},{4}", '"{0}",{1}', "{0}\t{4}", "$T${0}", "{0}$T${1}", "{0}", "{4}", "{0} B-ASP {4}", "{0} O -100"),
    *(
        "<sentences>",
        "<sentence><text>{0}</text>",
        '<aspectTerm term="{1}" polarity="{4}"/></sentence>',
        "</sentences>",
    ),
    *("# {0}", "{0} 3 nz", "{0}\t{1}"),
)
