"""Segmentation: lossless, private, and word for word what jieba gives."""

from __future__ import annotations

import logging
import math
import random
import sys
import tempfile
from functools import cache
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

import jieba
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jieba import finalseg

from pipeline.text import Segmenter, default_segmenter
from pipeline.text.compiled_cut import load_compiled
from pipeline.text.segment import _LONGEST_REMEMBERED
from pipeline.text.unknown_words import unknown_words
from pipeline.text.word_list import WordList, jieba_words

PIECES = [
    *"松果云杉的了在。，！\n 《》“”-·😀é",
    "iPhone 12",
    "北京大学",
    "研究所",
    "3.5%",
    "http",
    "很高兴",
    "\r\n",
    "\ud800",
    "\x00",
    *("4s店", "c++", "江南style", "t恤", "ab-12", "3.06mm", "https://a.cn/b?c=1&d", "1,234", "的a", "x了"),
]


@cache
def plain_jieba() -> jieba.Tokenizer:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(logging.getLogger("jieba"), "disabled", True)
        tokenizer = jieba.Tokenizer()
        tokenizer.tmp_dir = folder
        tokenizer.initialize()
    return tokenizer


mixed = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=15).map("".join)


@given(mixed)
def test_words_joined_give_the_text_back(text: str) -> None:
    words = default_segmenter().cut(text)
    assert "".join(words.forms) == text
    assert all(words.forms)
    assert len(words.starts) == len(words.forms) + 1
    assert words.starts[-1] == len(text)
    assert [text[a:b] for a, b in pairwise(words.starts)] == words.forms


@cache
def plain_segmenter() -> Segmenter:
    return Segmenter(compiled=False)


@settings(max_examples=1000)
@given(mixed)
def test_words_are_those_of_jieba(text: str) -> None:
    words = plain_jieba().lcut(text)
    assert default_segmenter().cut(text).forms == words
    assert plain_segmenter().cut(text).forms == words


def test_compiled_words_are_those_of_plain_python_beside_latin_runs() -> None:
    rng = random.Random(1)
    listed = sorted(jieba_words())
    words = [*rng.sample(listed, 2000), *jieba_words().with_ascii]
    makers = [
        lambda: rng.choice(words),
        lambda: rng.choice(rng.choice(words)),
        lambda: "".join(rng.choices("abcz0129.%-+#&_", k=rng.randrange(1, 6))),
    ]
    for _ in range(3000):
        text = "".join(rng.choice(makers)() for _ in range(rng.randrange(1, 12)))
        assert default_segmenter().cut(text).forms == plain_segmenter().cut(text).forms, text


def test_says_what_cuts() -> None:
    assert plain_segmenter().cutter == "plain"
    assert default_segmenter().cutter == f"rjieba-{version('rjieba')}"


def test_cuts_in_plain_python_where_rjieba_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rjieba", None)
    assert load_compiled(jieba_words()) is None


def test_cuts_in_plain_python_where_rjieba_has_another_dictionary() -> None:
    assert load_compiled(WordList("松果云杉 3 nz\n云杉 4 n\n")) is None


def test_a_word_list_knows_what_a_text_holds() -> None:
    words = WordList("云杉 4 n\n云 3 n\n杉树 0 n\nc++ 1 nz\n")
    assert words.inside("小云杉树") == pytest.approx(
        {"云": math.log(3 / 8), "云杉": math.log(4 / 8), "杉树": -math.inf}
    )
    assert words.with_ascii == ("c++",)
    assert words.tags(["c++", "小"]) == ["nz", ""]
    assert words.scores(["小"]) == [-math.inf]


@given(st.text("松果云杉的了在北京大学研究所很高兴李芳阳刘志伟abc12.5%-é", max_size=12))
def test_words_outside_the_dictionary_are_those_of_jiebas_model(text: str) -> None:
    assert list(unknown_words(text)) == list(finalseg.cut(text))


def test_empty_text_has_no_words() -> None:
    words = default_segmenter().cut("")
    assert (words.forms, words.starts) == ([], [0])


def test_cuts_long_texts_as_jieba_does_and_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    segmenter = Segmenter()
    rng = random.Random(0)
    texts = ["".join(rng.choice(PIECES) for _ in range(30)) for _ in range(60)]
    assert [segmenter.cut(text).forms for text in texts] == [plain_jieba().lcut(text) for text in texts]
    assert not list(tmp_path.iterdir())


def test_tags_come_from_the_dictionary() -> None:
    segmenter = default_segmenter()
    tags = [segmenter.tag(word) for word in ("北京", "的", "公司", "\n", "松果云杉")]
    assert tags == ["ns", "uj", "n", "", ""]


def test_log_frequencies() -> None:
    segmenter = default_segmenter()
    # "中华人民共" is in jieba's table only because a longer word begins with it.
    frequent, known, unknown, prefix, nothing = segmenter.log_frequencies(["的", "北京", "松果云杉", "中华人民共", ""])
    assert 0 > frequent > known > unknown
    assert prefix == unknown == nothing
    assert math.isfinite(unknown)


def test_is_named_after_backend_and_version() -> None:
    assert Segmenter.name == f"jieba-{version('jieba')}"


def test_default_is_built_once() -> None:
    assert default_segmenter() is default_segmenter()


def test_remembered_texts_have_the_same_words_as_long_ones() -> None:
    segmenter = default_segmenter()
    once = "我们喜欢松果茶社。"
    many = once * (_LONGEST_REMEMBERED // len(once) + 1)
    assert segmenter.cut(once) == segmenter.cut(once)
    assert segmenter.cut(many).forms == segmenter.cut(once).forms * (len(many) // len(once))
