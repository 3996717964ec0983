"""Reading articles: what is accepted, what stops the run and with which message."""

from __future__ import annotations

import gzip
import json
import logging
import secrets
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.data import lines
from pipeline.data.read import (
    BadRow,
    BadRowPolicy,
    Finding,
    ReadReport,
    align_gold,
    count_rows,
    iter_articles,
    iter_rows,
    parse_article,
    read_training,
)
from pipeline.errors import DataError
from pipeline.schema import Article, Emotion, Entity
from tests.support.paths import SAMPLE

GOOD = {"newsId": "a1", "title": "青禾涨价", "content": "青禾咖啡今天涨价。"}

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write rows (dicts or raw bytes) as lines of a file."""

    def write_rows(*rows: dict[str, object] | bytes, name: str = "rows.jsonl") -> Path:
        lines = [row if isinstance(row, bytes) else json.dumps(row, ensure_ascii=False).encode() for row in rows]
        data = b"\n".join([*lines, b""])
        path = tmp_path / name
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write_rows


def labelled(news_id: str, *pairs: tuple[object, object], **fields: object) -> dict[str, object]:
    entries = [{"entity": name, "emotion": emotion} for name, emotion in pairs]
    return {**GOOD, "newsId": news_id, "coreEntityEmotions": entries, **fields}


def test_iter_articles_reads_the_sample() -> None:
    articles = list(iter_articles(SAMPLE / "train.jsonl", labelled=True))
    assert len(articles) == 130
    assert all(article.entities and article.title and article.content for article in articles)
    assert all(align_gold(article)[1] == [] for article in articles)


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.txt", "rows.jsonl.gz", "rows.GZ"])
def test_iter_articles_reads_plain_and_gzip(write: Write, tmp_path: Path, name: str) -> None:
    path = write(GOOD, {**GOOD, "newsId": "a2"}, name=name)
    if name == "rows.GZ":
        path.write_bytes(gzip.compress(path.read_bytes()))
    assert [article.news_id for article in iter_articles(path)] == ["a1", "a2"]
    assert count_rows(path) == 2


def test_iter_articles_recognises_gzip_without_its_suffix(write: Write) -> None:
    path = write(GOOD, name="rows.jsonl.gz")
    assert [article.news_id for article in iter_articles(path.rename(path.with_name("rows.txt")))] == ["a1"]


def test_records_end_at_line_feed_only(write: Write) -> None:
    content = "前\u2028后\u0085又\u2029末"
    path = write({**GOOD, "content": content}, b'{"newsId": "a2", "title": "\\u001c", "content": "\xc2\x85"}')
    assert [(article.title, article.content) for article in iter_articles(path)] == [
        (GOOD["title"], content),
        ("\x1c", "\x85"),
    ]


def test_marks_line_ends_and_blank_lines_are_tolerated(tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    row = json.dumps(GOOD).encode()
    path.write_bytes(b"\xef\xbb\xbf" + row + b"\r\n\r\n \n" + row + b"\r\n\xef\xbb\xbf" + row)
    assert len(list(iter_articles(path))) == 3
    assert count_rows(path) == 5


def test_parse_article_takes_any_key_order_null_text_and_unknown_keys() -> None:
    row = {"extra": [1], "content": None, "title": "云杉", "truncated": True, "newsId": 17}
    assert parse_article(row) == Article("17", "云杉", "", None, truncated=True)


def test_parse_article_takes_a_missing_text_as_empty() -> None:
    assert parse_article({"newsId": "a", "content": "云杉"}) == Article("a", "", "云杉")


def test_parse_article_keeps_the_news_id_untouched() -> None:
    assert [parse_article({**GOOD, "newsId": value}).news_id for value in ("007", " x,y ", "NA")] == [
        "007",
        " x,y ",
        "NA",
    ]


def test_parse_article_distinguishes_no_labels_from_no_entities() -> None:
    assert parse_article(GOOD).entities is None
    assert parse_article({**GOOD, "coreEntityEmotions": None}).entities is None
    assert parse_article({**GOOD, "coreEntityEmotions": []}, labelled=True).entities == ()


def test_labels_are_ignored_when_asked_even_if_malformed() -> None:
    assert parse_article({**GOOD, "coreEntityEmotions": "none"}, labelled=False).entities is None


def test_gold_entities_are_trimmed_and_cleaned(write: Write) -> None:
    pairs = [("青禾 ", " pos "), ("　", "NEG"), ("青禾", "NEG"), ("云 杉", "NORM"), ("银杏", "NEG"), ("松果", "POS")]
    report = ReadReport()
    [article] = iter_articles(write(labelled("a1", *pairs)), report=report)
    assert article.entities == (
        Entity("青禾", Emotion.POS),
        Entity("云 杉", Emotion.NORM),
        Entity("银杏", Emotion.NEG),
        Entity("松果", Emotion.POS),
    )
    assert report.counts == {Finding.EMPTY_ENTITY: 1, Finding.REPEATED_ENTITY: 1, Finding.MANY_ENTITIES: 1}
    assert report.warnings()[1] == "1 entities left out that their article names twice (first: 青禾 in a1)"


def test_lone_surrogates_are_replaced_at_equal_length_and_counted(write: Write) -> None:
    row = rb'{"newsId":"a1","title":"x\ud83d\ude00y","content":"\ud800ab","coreEntityEmotions":[]}'
    report = ReadReport()
    [article] = iter_articles(write(row), report=report)
    assert (article.title, article.content) == ("x😀y", "\ufffdab")
    assert report.to_dict() | {"bad_row_examples": None} == {
        "articles": 1,
        "bad_row": 0,
        "repeated_id": 0,
        "empty_entity": 0,
        "repeated_entity": 0,
        "many_entities": 0,
        "lone_surrogate": 1,
        "bad_row_examples": None,
    }


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (b'{"newsId":"a1","title":"x"', r"not JSON: Expecting ',' delimiter at character 27"),
        (b'{"newsId":"a1"}{"newsId":"a2"}', "not JSON: Extra data"),
        (b'{"newsId":"a1","title":"\xff"}', "not UTF-8: byte 25 of the line is 0xff"),
        (b'{"newsId":"a1","title":"x","n":NaN}', "not JSON: NaN is not a JSON value"),
        (b'{"newsId":' + b"9" * 5000 + b',"title":"x"}', "not JSON: Exceeds the limit"),
        (b"[" * 100_000, "nested too deeply"),
        (b'["a1"]', r"not a JSON object but \['a1'\]"),
        (b"null", "not a JSON object but None"),
        ({"title": "x"}, "no newsId"),
        ({**GOOD, "newsId": None}, "no newsId"),
        ({**GOOD, "newsId": " "}, "newsId is empty"),
        ({**GOOD, "newsId": ""}, "newsId is empty"),
        ({**GOOD, "newsId": True}, "newsId True is neither text nor a whole number"),
        ({**GOOD, "newsId": 1.0}, "newsId 1.0 is neither text nor a whole number"),
        ({**GOOD, "newsId": "a\tb"}, r"newsId 'a\\tb' holds a tab or line break"),
        ({**GOOD, "newsId": "a\n"}, r"newsId 'a\\n' holds a tab or line break"),
        ({**GOOD, "newsId": "a\u2028b"}, r"newsId 'a\\u2028b' holds a tab or line break"),
        (b'{"newsId":"a\\ud800","title":"x"}', r"newsId 'a\\ud800' holds a lone surrogate"),
        ({"newsId": "a1"}, "neither title nor content"),
        ({**GOOD, "title": 5}, "title is not text but 5"),
        ({**GOOD, "content": ["x"]}, r"content is not text but \['x'\]"),
        (GOOD, "no coreEntityEmotions: labels are needed here"),
        ({**GOOD, "coreEntityEmotions": {}}, r"coreEntityEmotions is not a list but \{\}"),
        ({**GOOD, "coreEntityEmotions": ["青禾"]}, "entry 1 of coreEntityEmotions is not an object but '青禾'"),
        ({**GOOD, "coreEntityEmotions": [{"emotion": "POS"}]}, "entry 1 of coreEntityEmotions has no entity"),
        ({**GOOD, "coreEntityEmotions": [{"entity": "青禾"}]}, "entry 1 of coreEntityEmotions has no emotion"),
        (labelled("a1", ("青禾", "POSS")), "emotion 'POSS' is not one of POS, NORM, NEG"),
        ({**GOOD, "newsId": "\ufeffa"}, r"newsId '\\ufeffa' starts with a byte order mark"),
        (labelled("a1", ("青禾", ["POS"])), r"emotion \['POS'\] is not one of POS, NORM, NEG"),
    ],
)
def test_a_malformed_row_stops_with_file_line_and_reason(
    write: Write, row: dict[str, object] | bytes, reason: str
) -> None:
    path = write(labelled("a0"), row)
    with pytest.raises(DataError, match=f":2: {reason}") as caught:
        list(iter_articles(path, labelled=True))
    assert caught.value.message.startswith(f"{path}:2: ")
    assert "\n" not in caught.value.message
    assert caught.value.exit_code == 3


def test_a_row_split_over_two_lines_is_two_bad_rows(write: Write) -> None:
    path = write(b'{"newsId":"a1",', b'"title":"x"}', GOOD)
    with pytest.raises(DataError, match=r":1: not JSON: .* \(and 1 more bad row: line 2\)$"):
        list(iter_articles(path))


def test_bad_rows_are_gathered_and_nothing_is_yielded_after_the_first(write: Write) -> None:
    rows = iter_articles(write(GOOD, b"{", GOOD, b"", b"[]", b"1"))
    assert next(rows).news_id == "a1"
    with pytest.raises(DataError, match=r":2: not JSON.* \(and 2 more bad rows: lines 5, 6\)$") as caught:
        next(rows)
    assert "--skip-bad-rows" in str(caught.value.hint)


def test_reading_stops_at_twenty_bad_rows(write: Write) -> None:
    report = ReadReport()
    with pytest.raises(DataError, match=r"at least 19 more bad rows: lines 2, .*, 20\)$"):
        list(iter_articles(write(*[b"{"] * 50), report=report))
    assert report.counts[Finding.BAD_ROW] == 20


def test_bad_rows_are_counted_when_skipped(write: Write) -> None:
    path = write(*[b"{"] * 30, GOOD, b"[]")
    report = ReadReport()
    assert [article.news_id for article in iter_articles(path, policy=BadRowPolicy.SKIP, report=report)] == ["a1"]
    assert (report.n_articles, report.counts[Finding.BAD_ROW], len(report.bad_rows)) == (1, 31, 20)
    assert report.bad_rows[1].startswith(f"{path}:2: not JSON")


def test_a_file_of_bad_rows_only_is_an_error_even_when_they_are_skipped(write: Write) -> None:
    with pytest.raises(DataError, match=r":1: not JSON.*1 more bad row: line 2\)"):
        list(iter_articles(write(b"{", b"{"), policy=BadRowPolicy.SKIP))


def test_iter_rows_yields_bad_rows_in_place(write: Write) -> None:
    first, second = iter_rows(write(b"7", GOOD), labelled=None, report=ReadReport())
    assert isinstance(first, BadRow)
    assert first.line == 1
    assert isinstance(second, Article)


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz"])
def test_a_line_that_is_too_long_is_passed_over(write: Write, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 100)
    exact = b'{"newsId":"exact","title":"' + b"x" * 71 + b'"}'
    assert len(exact) == 100
    path = write(exact, b"1" * 101, b"1" * 1000, {"newsId": "last", "title": "x"}, b"1" * 200, name=name)
    report = ReadReport()
    articles = list(iter_articles(path, policy=BadRowPolicy.SKIP, report=report))
    assert [article.news_id for article in articles] == ["exact", "last"]
    assert report.bad_rows == [f"{path}:{line}: the line is longer than 100 bytes" for line in (2, 3, 5)]


def test_a_file_that_cannot_be_read_is_a_data_error(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DataError, match=r"absent\.jsonl: no such file$"):
        list(iter_articles(tmp_path / "absent.jsonl"))
    with pytest.raises(DataError, match=r"is a folder, not a file$"):
        list(iter_articles(tmp_path))
    with pytest.raises(DataError, match=r"absent: no such file$"):
        count_rows(tmp_path / "absent")
    path = write(GOOD)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError, match=r"cannot be read: Permission denied$"):
        list(iter_articles(path))


@pytest.mark.parametrize("data", [b"", b"\n \r\n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz"])
def test_an_empty_file_is_a_data_error(tmp_path: Path, data: bytes, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    with pytest.raises(DataError, match=r"the file is empty, it holds no article$"):
        list(iter_articles(path))


@pytest.mark.parametrize("damage", ["cut", "flipped", "plain"])
def test_damaged_gzip_is_a_data_error(tmp_path: Path, damage: str) -> None:
    data = gzip.compress(json.dumps(GOOD).encode() * 100)
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes({"cut": data[:-12], "flipped": data[:30] + b"\0\0\0\0" + data[34:], "plain": b"{}"}[damage])
    with pytest.raises(DataError, match=r"rows\.jsonl\.gz: damaged or not gzip: "):
        list(iter_articles(path))


def test_read_training_keeps_the_first_article_of_an_id_and_text(
    write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    first = write(labelled("a1", title="甲"), labelled("a2", title="乙"), name="first.jsonl")
    again = labelled("a3", ("青禾", "POS"), title="丁")
    second = write(labelled("a2", title="乙"), labelled("a3", title="丁"), again, name="second.jsonl.gz")
    report = ReadReport()
    with caplog.at_level(logging.WARNING):
        articles = read_training([first, second], report=report)
    assert [(article.news_id, article.title) for article in articles] == [("a1", "甲"), ("a2", "乙"), ("a3", "丁")]
    assert (report.n_articles, report.counts[Finding.REPEATED_ID]) == (3, 2)
    left_out, contradicting = caplog.messages
    assert left_out == f"training data: 2 articles left out that repeat an earlier newsId (first: a2 at {second}:1)"
    assert contradicting == (
        f"training data: 2 rows repeat an earlier newsId (1 with contradicting labels), the first counts:"
        f" a2 at {second}:1 (first at {first}:2); a3 at {second}:3 (first at {second}:2, contradicting labels)"
    )


def test_read_training_refuses_one_id_for_two_texts(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    first = write(labelled("a1", title="甲"), labelled("a2", title="乙"), name="first.jsonl")
    second = write(labelled("a3", title="丁"), labelled("a2", title="丙"), name="second.jsonl")
    clash = f"{second}:2: newsId a2 stands for another text at {first}:2"
    with pytest.raises(DataError, match=r"newsId a2 stands for another text at") as caught:
        read_training([first, second])
    assert caught.value.message == clash
    report = ReadReport()
    articles = read_training([first, second], policy=BadRowPolicy.SKIP, report=report)
    assert [(article.news_id, article.title) for article in articles] == [("a1", "甲"), ("a2", "乙"), ("a3", "丁")]
    assert (report.n_articles, report.bad_rows) == (3, [clash])


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz"])
def test_a_file_that_becomes_shorter_while_it_is_read_is_an_error(write: Write, name: str) -> None:
    rows = [{**GOOD, "newsId": f"a{number}", "content": secrets.token_hex(500)} for number in range(2000)]
    path = write(*rows, name=name)
    articles = iter_articles(path)
    next(articles)
    with path.open("r+b") as file:
        whole = file.read()
        file.truncate(whole.rindex(b"\n", 0, len(whole) // 2) + 1)  # between two rows
    with pytest.raises(DataError, match=r"became shorter while it was read|damaged"):
        list(articles)


def test_read_training_needs_labels_and_files(write: Write) -> None:
    with pytest.raises(DataError, match="labels are needed here"):
        read_training([write(GOOD)])
    with pytest.raises(DataError, match="no training file was given"):
        read_training([])


def test_align_gold_finds_names_as_written_or_normalised() -> None:
    pairs = [
        ("银杏出版社 ", "POS"),
        (" 云杉汽车", "NEG"),
        ("VIVO", "POS"),
        ("Ａpp", "POS"),
        ("松果", "POS"),
        ("\u200b", "POS"),
    ]
    article = parse_article(labelled("q8", *pairs, title="书讯", content="银杏出版社 再版, 云杉汽车停产。vivo app"))
    assert align_gold(article) == (["银杏出版社", "云杉汽车", "VIVO", "Ａpp"], ["松果", "\u200b"])
    assert align_gold(parse_article(GOOD)) == ([], [])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
rows = st.fixed_dictionaries(
    {},
    optional={
        "newsId": st.text(max_size=3) | json_values,
        "title": st.text(max_size=5) | json_values,
        "content": st.text(max_size=5) | json_values,
        "coreEntityEmotions": json_values
        | st.lists(st.fixed_dictionaries({"entity": st.text(max_size=3), "emotion": st.sampled_from(["POS", "NEG "])})),
    },
)
row_lines = st.lists((rows | json_values).map(json.dumps).map(str.encode), max_size=4).map(b"\n".join)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    data=st.binary(max_size=200) | row_lines | row_lines.map(gzip.compress),
    labelled=st.sampled_from([True, False, None]),
)
def test_any_bytes_give_articles_or_a_data_error(tmp_path: Path, data: bytes, labelled: bool | None) -> None:
    path = tmp_path / "any.jsonl"
    path.write_bytes(data)
    for policy in BadRowPolicy:
        articles, problem = [], ""
        try:
            articles = list(iter_articles(path, labelled=labelled, policy=policy))
        except DataError as error:
            problem = error.message
        assert bool(articles) != (str(path) in problem)
        assert "\n" not in problem
        for article in articles:
            assert article.news_id.strip()
            assert f"{article.news_id}{article.title}{article.content}".encode()
            assert all(entity.name == entity.name.strip() != "" for entity in article.entities or ())
