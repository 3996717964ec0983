"""Damaged files of every format: an error of ours, never another."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.data.formats.tagging import FORMATS, Form, iter_rows, read_rows
from pipeline.errors import PipelineError
from tests.data.formats.tagging.test_tools import TABLE, VARIANTS

SAMPLES = {
    **{name: json.dumps([row] * 3, ensure_ascii=False, indent=1).encode() for name, (_, row) in VARIANTS.items()},
    "lines": "".join(json.dumps(row, ensure_ascii=False) + "\n" for _, row in VARIANTS.values()).encode(),
    "table": TABLE.encode("gb18030"),
    "wide table": TABLE.encode("utf-16"),
    "columns": "青\tB-A\n禾\tI-A\n\n云 O\n".encode(),
    "brat": "T1\tPER 0 3\t赵以宁\nT4\tLOC 8 10;13 14\t青禾 ，\nR1\tX Arg1:T1 Arg2:T4\n".encode(),
}
PIECES = [b"{", b"}", b"[", b"]", b'"', b",", b"\n", b"\t", b"\x00", b"\xff", b"-1", b"1e999", b"null", b"9" * 30]


names = st.sampled_from([None, *FORMATS])


def try_all(path: Path, name: str | None) -> None:
    """Read a file as rows to be tagged and as labelled ones."""
    for form in (Form(format=name), Form(format=name, tags="BIO", tag_names=("O", "B-A"))):
        with suppress(PipelineError):
            read_rows(path, form=form)
    with suppress(PipelineError):
        list(iter_rows(path, form=Form(format=name)))


@settings(max_examples=60)
@given(name=names, content=st.binary(max_size=60))
def test_random_bytes(tmp_path_factory: pytest.TempPathFactory, name: str | None, content: bytes) -> None:
    folder = tmp_path_factory.getbasetemp()
    (folder / "fuzz.txt").write_bytes(content)
    (folder / "fuzz.ann").write_bytes(content)
    for path in (folder / "fuzz.txt", folder / "fuzz.ann"):
        try_all(path, name)


KEYS = (
    *("text", "label", "labels", "entities", "ents", "spans", "data", "annotations", "result", "value", "start", "end"),
    *("start_offset", "end_offset", "from", "to", "tokens", "tags", "ner_tags", "relations", "type", "completions"),
    *("paragraphs", "sentences", "raw", "orth", "ner", "space"),
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | st.floats(allow_nan=False) | st.sampled_from(["", "青禾", "PER"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)


@settings(max_examples=100)
@given(name=names, values=st.lists(json_values, min_size=1, max_size=3))
def test_any_json(tmp_path_factory: pytest.TempPathFactory, name: str | None, values: list[object]) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzz.json"
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    try_all(path, name)


@pytest.mark.parametrize("sample", SAMPLES)
def test_damaged_samples(tmp_path: Path, sample: str) -> None:
    rng = random.Random(sample)
    content = SAMPLES[sample]
    (tmp_path / "a.txt").write_text("赵以宁来了。\n青禾县很大，\n", encoding="utf-8")
    for _ in range(8):
        place = rng.randrange(len(content))
        stop = min(len(content), place + rng.randrange(6))
        damaged = rng.choice([content[:place], content[:place] + rng.choice(PIECES) + content[stop:]])
        for path in (tmp_path / "a.json", tmp_path / "a.ann", tmp_path / "a.csv"):
            path.write_bytes(damaged)
            try_all(path, None)
