from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.emotions.sentiment.contexts import context_origin, find_mentions, gold_emotions, gold_targets, make_target
from pipeline.schema import Article, Emotion, Entity
from pipeline.text import Document, match_key


def document(title: str, content: str, *entities: Entity) -> Document:
    return Document.of(Article("n1", title, content, entities))


ARTICLE = document(
    "松果茶社开业",
    "今天下雨。银杏书店的店主来道贺。松果茶社座无虚席！路上没有车。人们说松果茶社的茶很香。",
    Entity("松果茶社", Emotion.POS),
    Entity("银杏书店", Emotion.NORM),
)


def test_context_is_title_and_the_sentences_that_name_the_target() -> None:
    found = make_target(ARTICLE, "松果茶社", max_chars=200)
    assert found.text == "松果茶社开业\n松果茶社座无虚席!\n人们说松果茶社的茶很香。"
    assert (found.start, found.stop) == (0, 4)
    assert [found.text[a:b] for a, b in found.mentions] == ["松果茶社"] * 3
    assert found.document == ARTICLE.text
    assert found.group == "n1"


def test_target_outside_the_title_is_marked_in_its_sentence() -> None:
    found = make_target(ARTICLE, "银杏书店", max_chars=200)
    assert found.text == "松果茶社开业\n银杏书店的店主来道贺。"
    assert found.text[found.start : found.stop] == "银杏书店"


def test_target_that_does_not_occur_gets_the_lead() -> None:
    found = make_target(ARTICLE, "渡口", max_chars=20)
    assert found.text == ARTICLE.text[:20]
    assert found.start == found.stop == 0


def test_name_is_matched_in_normalised_form_and_kept_as_written() -> None:
    found = make_target(document("ＶＩＶＯ 发布", "VIVO手机很好。"), "Vivo", max_chars=100)
    assert found.name == "Vivo"
    assert [found.text[a:b] for a, b in found.mentions] == ["vivo", "vivo"]


@pytest.mark.parametrize(
    ("text", "key", "expected"),
    [
        ("松果松果松果", "松果", [(0, 2), (2, 4), (4, 6)]),
        ("哈哈哈", "哈哈", [(0, 2)]),
        ("said ai", "ai", [(5, 7)]),
        ("he said", "ai", [(4, 6)]),  # better inside a word than nowhere
        ("松果", "", []),
        ("", "松果", []),
    ],
)
def test_find_mentions(text: str, key: str, expected: list[tuple[int, int]]) -> None:
    assert find_mentions(text, key) == expected


def test_a_long_sentence_is_cut_away_from_the_name() -> None:
    found = make_target(document("", "前" * 90 + "松果" + "后" * 90), "松果", max_chars=20)
    assert found.text == "前" * 9 + "松果" + "后" * 9


def test_a_long_title_without_the_name_leaves_half_the_room() -> None:
    found = make_target(document("题" * 90, "前" * 90 + "松果" + "后" * 90), "松果", max_chars=40)
    assert found.text.startswith("题" * 20 + "\n前")
    assert found.text[found.start : found.stop] == "松果"
    assert len(found.text) <= 41


def test_a_name_longer_than_the_limit_stays_whole() -> None:
    name = "松果茶社与银杏书店联合主办的第二届山泉节"
    found = make_target(document("", f"今天{name}开幕。"), name, max_chars=16)
    assert found.text == name


def test_a_name_with_a_full_stop_inside_is_found() -> None:
    name = "雨停了。松果"
    found = make_target(document("", f"今天{name}开花。好看。"), name, max_chars=50)
    assert found.text[found.start : found.stop] == name


@pytest.mark.parametrize(("title", "content"), [("", ""), ("", "松果"), ("松果", ""), ("题", "\n\n"), ("&amp;", "<b>")])
@pytest.mark.parametrize("name", ["松果", "", " ", "https://a.cn/x", "松\n果"])
def test_odd_articles_and_names_give_an_example(title: str, content: str, name: str) -> None:
    found = make_target(document(title, content), name, max_chars=16)
    assert found.text[found.start : found.stop] in ("", match_key(name))


texts = st.text("松果茶。！\n《》a1 ", max_size=40)


@given(title=texts, content=texts, name=st.text("松果茶。a1 ", max_size=5), max_chars=st.integers(16, 60))
def test_context_keeps_its_promises(title: str, content: str, name: str, max_chars: int) -> None:
    item = document(title, content)
    found = make_target(item, name, max_chars=max_chars)
    key = match_key(name)
    assert len(found.text) <= max_chars + 1 + len(key)
    if key and key in item.title.text + "\n\n" + item.content.text:
        assert found.text[found.start : found.stop] == key
        assert (found.start, found.stop) == found.mentions[0]
    for (_, stop), (start, _) in zip(found.mentions, found.mentions[1:], strict=False):
        assert stop <= start


def test_gold_targets_carry_the_emotions() -> None:
    found = gold_targets([ARTICLE], max_chars=100)
    assert [(item.name, item.emotion) for item in found] == [("松果茶社", Emotion.POS), ("银杏书店", Emotion.NORM)]
    assert gold_emotions(found) == [Emotion.POS, Emotion.NORM]


def test_unlabelled_articles_have_no_gold_targets() -> None:
    assert gold_targets([Document.of(Article("n2", "松果", ""))], max_chars=100) == []


def test_gold_emotions_refuses_an_unlabelled_example() -> None:
    with pytest.raises(ValueError, match=r"target '松果茶社' of 'n1' has no gold emotion"):
        gold_emotions([make_target(ARTICLE, "松果茶社", max_chars=50)])


@given(st.text("松果云杉好坏。\n ", max_size=60), st.text("松果云杉好坏。！\n ", max_size=120), st.integers(4, 60))
def test_origin_leads_every_character_of_the_context_back(title: str, content: str, max_chars: int) -> None:
    read = document(title, content)
    target = make_target(read, "松果", max_chars=max_chars)
    origin = context_origin(read, "松果", max_chars=max_chars)
    for start, source, length in origin:
        assert target.text[start : start + length] == read.text[source : source + length]
    told = {place for start, _, length in origin for place in range(start, start + length)}
    assert all(char == "\n" for place, char in enumerate(target.text) if place not in told)
