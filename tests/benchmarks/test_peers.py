"""Rankers by turns: each answers every chunk, and is scored by its own answers."""

from __future__ import annotations

import logging
from pathlib import Path

import jieba
import pytest

from benchmarks.peers import Answer, FrequencyAndSvm, by_turns, of_jieba
from pipeline.schema import Article, Emotion, Entity

GOOD, BAD = Emotion("POS"), Emotion("NEG")


def article(number: int, name: str, emotion: Emotion) -> Article:
    words = "很好很喜欢" if emotion is GOOD else "亏损又道歉"
    return Article(str(number), f"{name}{words}", f"{name}今天{words}。山路。", entities=(Entity(name, emotion),))


ARTICLES = [article(n, ("松果茶社", "云杉公司")[n % 2], (GOOD, BAD)[n % 2]) for n in range(8)]


@pytest.fixture(autouse=True)
def quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.getLogger("jieba"), "disabled", True)
    monkeypatch.setattr(jieba.dt, "tmp_dir", str(tmp_path))


@pytest.mark.filterwarnings("default")
def test_the_baseline_names_what_its_dictionary_holds() -> None:
    baseline = FrequencyAndSvm(["松果茶社", "云杉公司", "没有的"], ARTICLES)
    assert baseline(ARTICLES[:2]) == [{"松果茶社": "POS"}, {"云杉公司": "NEG"}]


def test_every_ranker_answers_every_chunk_in_turn() -> None:
    asked: list[tuple[str, int]] = []

    def right(chunk: list[Article]) -> list[Answer]:
        asked.append(("right", len(chunk)))
        return [{entity.name: entity.emotion.value for entity in one.entities or ()} for one in chunk]

    def names_alone(chunk: list[Article]) -> list[Answer]:
        asked.append(("names", len(chunk)))
        return [{"松果茶社": None} for _ in chunk]

    first, second = by_turns({"right": right, "names": names_alone}, ARTICLES, rounds=2)
    assert asked == [("right", 2), ("names", 2), *[("right", 8), ("names", 8)] * 2]
    assert (first["entity_f1"], first["entity_emotion_f1"]) == (1.0, 1.0)
    assert (second["entity_f1"], "entity_emotion_f1" in second) == (0.5, False)


def test_an_extractor_of_jieba_is_asked_for_three_names() -> None:
    def extract(text: str, *, topK: int) -> list[str]:
        return [text[:4]] * topK

    assert of_jieba(extract)(ARTICLES[:1]) == [{"松果茶社": None}]
