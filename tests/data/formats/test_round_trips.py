"""Every format read, converted to ours (and to what else is written), and read again: equal."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.data.formats import tagging
from pipeline.data.formats.convert import TAGGING_WRITERS, Wanted, convert
from pipeline.data.formats.kinds import Kind, kind_of
from pipeline.data.formats.registry import FORMATS
from pipeline.data.formats.sentiment import document_examples, iter_sentiment_objects, target_examples
from pipeline.data.read import Reading, iter_articles
from pipeline.errors import ConfigError, DataError
from pipeline.text.spans import Span
from tests.data.formats.tagging.rows import table
from tests.data.formats.test_formats import ATEPC, SEMEVAL
from tests.support.command_line import Done

FORMS = ("rows.jsonl", "rows.json", "rows.csv", "rows.tsv", "rows.jsonl.gz")
ARTICLE = {
    "newsId": "a",
    "title": "青禾",
    "content": "好",
    "coreEntityEmotions": [{"entity": "青禾", "emotion": "POS"}],
}
FILES: dict[str, tuple[str, str, Kind]] = {
    "csv": ("a.csv", "text,target,polarity\n青禾好,青禾,POS\n", Kind.TARGETS),
    "tsv": ("a.tsv", "text\tlabel\n好\t1\n差\t0\n", Kind.DOCUMENTS),
    "json": ("a.json", json.dumps([ARTICLE, {**ARTICLE, "newsId": "b"}], indent=1), Kind.ARTICLES),
    "jsonl": ("a.jsonl", json.dumps(ARTICLE), Kind.ARTICLES),
    "triples": ("a.seg", "这$T$好\n屏幕\n-1\n\n$T$坏\n电池\n1\n", Kind.TARGETS),
    "atepc": (
        "a.dat",
        ATEPC.replace("-100\n\n", "Negative\n\n").replace("电 B-ASP -100", "电 B-ASP Positive"),
        Kind.TARGETS,
    ),
    "semeval": ("a.xml", SEMEVAL.replace("conflict", "negative"), Kind.TARGETS),
    "sohu2022": ("a.txt", '{"id": 1, "content": "青禾好，云杉坏", "entity": {"青禾": 2, "云杉": -1}}\n', Kind.TARGETS),
}
"""An example of each format of files: name, content, and what its rows are."""

TEXT, OTHER = "赵以宁在青禾县。", "=云杉AB来了"
SPANS = [(Span(0, 3, "PER"), Span(4, 7, "LOC")), (Span(1, 5, "ORG"),)]
REGIONS = [
    [{"start": start, "end": stop, "text": text[start:stop], "labels": [label]} for start, stop, label in spans]
    for text, spans in zip((TEXT, OTHER), SPANS, strict=True)
]
TAGS = [["B-PER", "I-PER", "L-PER", "O", "B-LOC", "I-LOC", "L-LOC", "O"], ["O", "B-ORG", "I-ORG", "L-ORG", "O", "O"]]
TOKENS = [list(TEXT), ["=", "云", "杉", "AB", "来", "了"]]


def marked(key: str, of_row: Callable[[str, tuple[Span, ...]], object]) -> str:
    rows = [{"text": text, key: of_row(text, spans)} for text, spans in zip((TEXT, OTHER), SPANS, strict=True)]
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def entities(text: str, spans: tuple[Span, ...]) -> object:
    return [{"entity": text[a:b], "type": label, "from": a, "to": b} for a, b, label in spans]


def of_cluener(text: str, spans: tuple[Span, ...]) -> object:
    return {label: {text[a:b]: [[a, b - 1]]} for a, b, label in spans}


def token_rows() -> str:
    return "".join(
        f"{json.dumps({'tokens': tokens, 'tags': tags})}\n" for tokens, tags in zip(TOKENS, TAGS, strict=True)
    )


def column_lines() -> str:
    return "\n".join(
        "".join(f"{token} {tag}\n" for token, tag in zip(tokens, tags, strict=True))
        for tokens, tags in zip(TOKENS, TAGS, strict=True)
    )


MARKED: dict[str, tuple[str, str]] = {
    "spacy": ("a.json", json.dumps([[TEXT, {"entities": SPANS[0]}], [OTHER, {"entities": SPANS[1]}]])),
    "labelstudio": ("a.json", marked("label", lambda text, spans: REGIONS[(TEXT, OTHER).index(text)])),
    "cluener": ("a.json", marked("label", of_cluener)),
    "doccano": ("a.jsonl", marked("label", lambda text, spans: spans)),
    "tokens": ("a.jsonl", token_rows()),
    "entities": ("a.jsonl", marked("entities", entities)),
    "columns": ("a.conll", column_lines()),
    "table": ("a.csv", table(("text", "label"), *zip((TEXT, OTHER), map(json.dumps, REGIONS), strict=True))),
    "brat": ("a.ann", ""),
}
"""The same two rows in each format of marked entities."""


def read(path: Path, kind: Kind) -> list[object]:
    """Return what models get of the rows of a file."""
    if kind is Kind.ARTICLES:
        return list(iter_articles(path))
    examples = target_examples if kind is Kind.TARGETS else document_examples
    return [example for _, row in iter_sentiment_objects(path) for example in examples(row)]


def spans_of(path: Path, form: tagging.Form | None = None) -> list[tuple[str, tuple[Span, ...]]]:
    return [(row.text, row.spans) for row in tagging.read_rows(path, form=form).rows]


def put_marked(name: str, folder: Path) -> Path:
    """Write the example of a format of marked entities; brat's is a folder."""
    if name == "brat":
        found = folder / "brat"
        found.mkdir()
        (found / "a.txt").write_text(f"{TEXT}\n{OTHER}\n", encoding="utf-8")
        marks = [*SPANS[0], Span(10, 14, "ORG")]
        lines = [
            f"T{number}\t{label} {a} {b}\t{f'{TEXT}#{OTHER}'[a:b]}\n" for number, (a, b, label) in enumerate(marks, 1)
        ]
        (found / "a.ann").write_text("".join(lines), encoding="utf-8")
        return found
    path = folder / MARKED[name][0]
    path.write_text(MARKED[name][1], encoding="utf-8", newline="")
    return path


def test_every_format_has_an_example() -> None:
    assert set(FILES) == set(FORMATS)
    assert {*MARKED, "text"} == set(tagging.FORMATS)  # plain text has no labels


def test_no_format_has_the_name_of_another() -> None:
    """The names are those of one option."""
    assert not set(FORMATS) & set(tagging.FORMATS)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", FORMATS)
def test_files_come_back_as_they_were(tmp_path: Path, name: str, form: str) -> None:
    file, content, kind = FILES[name]
    (tmp_path / file).write_text(content, encoding="utf-8")
    assert kind_of(tmp_path / file) is kind
    want = read(tmp_path / file, kind)
    assert want
    (tmp_path / "new").mkdir()
    target = tmp_path / "new" / form
    n_rows = convert(tmp_path / file, target, Wanted(kind.value), reading=Reading(name))
    assert n_rows > 0
    assert kind_of(target) is kind
    assert read(target, kind) == want


@pytest.mark.parametrize("wanted", [Wanted.ENTITIES, *TAGGING_WRITERS])
@pytest.mark.parametrize("is_named", [False, True])
@pytest.mark.parametrize("name", [name for name in tagging.FORMATS if name != "text"])
def test_marked_rows_come_back_as_they_were(tmp_path: Path, name: str, is_named: bool, wanted: Wanted) -> None:
    path = put_marked(name, tmp_path)
    assert tagging.recognise(path) == name
    assert kind_of(path) is Kind.ENTITIES
    want = list(zip((TEXT, OTHER), SPANS, strict=True))
    assert spans_of(path) == want
    target = tmp_path / ("new.conll" if wanted is Wanted.CONLL else "new.jsonl")
    assert convert(path, target, wanted, reading=Reading(name if is_named else None)) == 2
    assert spans_of(target) == want
    assert tagging.recognise(target) == TAGGING_WRITERS.get(wanted, "entities")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", [name for name in tagging.FORMATS if name != "text"])
def test_marked_rows_come_back_from_every_form_of_file(tmp_path: Path, name: str, form: str) -> None:
    """Tables hold the regions of annotation tools, and a text that a spreadsheet would compute."""
    path = put_marked(name, tmp_path)
    (tmp_path / "new").mkdir()
    target = tmp_path / "new" / form
    assert convert(path, target, Wanted.ENTITIES) == 2
    assert kind_of(target) is Kind.ENTITIES
    assert spans_of(target) == list(zip((TEXT, OTHER), SPANS, strict=True))


def test_plain_text_has_nothing_to_convert(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("青禾县很大。\n", encoding="utf-8")
    for reading in (Reading(), Reading("text")):
        with pytest.raises(DataError, match=r"a\.txt:1: plain text, want entities, tags or \(in a \.csv file\) label"):
            convert(path, tmp_path / "new", Wanted.ENTITIES, reading=reading)


@pytest.mark.parametrize("wanted", TAGGING_WRITERS)
def test_formats_of_others_are_no_tables(tmp_path: Path, wanted: Wanted) -> None:
    path = put_marked("doccano", tmp_path)
    with pytest.raises(ConfigError, match=rf"new\.csv\.gz: {wanted} is not written as a table"):
        convert(path, tmp_path / "new.csv.gz", wanted)
    assert not (tmp_path / "new.csv.gz").exists()


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("a.tsv", "3\tB-NUM\n青\tB-A\n禾\tI-A\n\n"),
        ("a.txt", "3 B-NUM\n青 B-A\n禾 I-A\n\n"),
        ("a.txt", "[ O\n青 B-A\n禾 I-A\n\n"),
        ("a.jsonl", '{\n "text": "青禾",\n "label": [[0, 2, "A"]]\n}\n'),
        (
            "a.jsonl",
            '{"id": 1, "text": "无"}\n{"id": 2, "text": "青禾", "ents": [{"start": 0, "end": 2, "label": "A"}]}\n',
        ),
    ],
)
def test_marked_rows_are_recognised_wherever_their_marks_are(tmp_path: Path, file: str, content: str) -> None:
    path = tmp_path / file
    path.write_text(content, encoding="utf-8")
    assert kind_of(path) is Kind.ENTITIES


def test_commands_read_folders_and_pairs(run_here: Callable[..., Done], tmp_path: Path) -> None:
    folder, pairs = put_marked("brat", tmp_path), put_marked("spacy", tmp_path)
    done = run_here("convert", folder, "new.jsonl", "--to", "doccano")
    assert (done.code, done.out) == (0, "new.jsonl: 2 rows\n")
    done = run_here("audit", folder, pairs, "--json", "-")
    assert done.code == 0
    rows = json.loads(done.out)["rows"]
    assert [(row["kind"], row["labels"], row["n_rows"]) for row in rows] == [
        ("entities", {"PER": 1, "LOC": 1, "ORG": 1}, 2)
    ] * 2
    assert json.loads(done.out)["shared_texts"][0]["n_texts"] == 2
    told = [line for line in done.err.splitlines() if line.startswith(f"{pairs}: ")]
    assert told == [f"{pairs}: rows are spaCy's: 2 rows, 3 types (--format settles it)"]
    (tmp_path / "empty").mkdir()
    done = run_here("audit", "empty")
    assert done.code == 3
    assert "empty: a folder without .txt files (want brat's files: .txt and .ann of one name)" in done.out


def test_format_and_encoding_of_marked_rows_are_followed(run_here: Callable[..., Done], tmp_path: Path) -> None:
    row = {"text": "青禾", "entities": [[0, 1, "X"]], "label": [[0, 2, "A"]]}
    (tmp_path / "a.jsonl").write_text(json.dumps(row, ensure_ascii=False), encoding="big5")
    done = run_here("audit", "a.jsonl", "--format", "doccano", "--encoding", "big5", "--json", "-")
    assert (done.code, json.loads(done.out)["rows"][0]["labels"]) == (0, {"A": 1})
    done = run_here("audit", "a.jsonl", "--format", "docano")
    assert done.message.startswith("unknown format 'docano' (have: csv, ")
    assert "hint: did you mean 'doccano'?\n" in done.err
    done = run_here("predict", "--format", "doccano", "--input", "a.jsonl")
    assert done.message.startswith("unknown format 'doccano'")  # of articles
