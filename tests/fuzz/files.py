"""Properties of what is read and written: rows, upload files, pages; and of the score."""

from __future__ import annotations

import gzip
import json
import re
from html.parser import HTMLParser
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.invented_report import view
from pipeline.data.read import BadRow, BadRowPolicy, Reading, ReadReport, iter_articles, iter_rows
from pipeline.errors import DataError
from pipeline.metric import article_scores, emotion_f1, entity_f1, evaluate
from pipeline.report.html.data_files import rounded, write_data
from pipeline.report.html.markup import HIDDEN, script_json, tag, visible
from pipeline.schema import EMOTIONS, MAX_ENTITIES, Article, Emotion, Entity
from pipeline.submission import check_submission, clean_names, read_submission
from tests.support.submissions import write_answers

from .inputs import Maker, naming

# --- rows

AS_WRITTEN = Reading("jsonl", "utf-8")
"""Not recognised: a damaged line may look like the first of another format."""


def rows(maker: Maker, size: int, folder: Path) -> None:
    """Every line that is not blank is an article or a malformed row; a file is read or refused in one line."""
    lines = [_row(maker) for _ in range(size)]
    content = b"\n".join(lines)
    path = folder / "rows.jsonl"
    path.write_bytes(content)
    report = ReadReport()
    found = list(iter_rows(path, labelled=maker.rng.choice([True, False, None]), report=report, reading=AS_WRITTEN))
    assert len(found) == sum(bool(line.removeprefix(b"\xef\xbb\xbf").strip()) for line in content.split(b"\n"))
    articles = [row for row in found if not isinstance(row, BadRow)]
    assert report.n_articles == len(articles)
    for row in found:
        naming(_row_is_sound, row)
    for policy in BadRowPolicy:
        _refused_or_read(path, policy)
    path.write_bytes(maker.damaged(gzip.compress(content, 1)))
    _refused_or_read(path, BadRowPolicy.SKIP)


def _row(maker: Maker) -> bytes:
    rng = maker.rng
    kind = rng.random()
    if kind < 0.1:
        return maker.text().encode("utf-8", "surrogatepass").replace(b"\n", b"")
    strange = [None, 7, -1.5, True, [], {}, [[]], "", " ", maker.text(2), {"entity": 1}]

    def value(sound: Any) -> Any:
        return rng.choice(strange) if rng.random() < 0.04 else sound

    labels = [
        value({"entity": value(maker.text(2)), "emotion": value(rng.choice(EMOTIONS))})
        for _ in range(rng.randint(0, 4))
    ]
    row = {
        "newsId": value(f"a{rng.randrange(10**6)}"),
        "coreEntityEmotions": value(labels),
        "title": value(maker.text(4)),
        "content": value(maker.text(12)),
    }
    for key in rng.sample(list(row), rng.choice([0, 0, 0, 1])):
        del row[key]
    line = json.dumps(row, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    return maker.damaged(line) if kind > 0.7 else line


def _row_is_sound(row: Article | BadRow) -> None:
    if isinstance(row, BadRow):
        assert "\n" not in str(row)
        assert row.reason
        return
    assert row.news_id.strip()
    assert f"{row.news_id}{row.title}{row.content}".encode() is not None
    names = [entity.name for entity in row.entities or ()]
    assert all(name == name.strip() != "" for name in names)
    assert len(set(names)) == len(names)


def _refused_or_read(path: Path, policy: BadRowPolicy) -> None:
    articles, message = [], ""
    try:
        articles = list(iter_articles(path, policy=policy))
    except DataError as error:
        message = error.message
    assert str(path) in message or articles
    assert "\n" not in message


# --- upload files


def submissions(maker: Maker, size: int, folder: Path) -> None:
    """What is written has no problem and reads back clean; what is damaged is listed or refused, never a traceback."""
    numbers = count()
    answers = {
        _news_id(maker, next(numbers)): [Entity(maker.text(3), maker.rng.choice(EMOTIONS)) for _ in range(4)]
        for _ in range(size)
    }
    path = folder / "answer.txt"
    write_answers(path, answers, answers)
    assert check_submission(path, answers) == []
    found = read_submission(path)
    assert list(found) == list(answers)
    for news_id, given in answers.items():
        kept = clean_names(entity.name for entity in given).kept
        assert found[news_id] == tuple(Entity(name, given[index].emotion) for index, name in kept)
        assert len(kept) <= MAX_ENTITIES
    path.write_bytes(maker.damaged(path.read_bytes()))
    problems = check_submission(path, answers)
    assert all("\n" not in str(problem) for problem in problems)
    damaged, message = {}, ""
    try:
        damaged = read_submission(path)
    except DataError as error:
        message = error.message
    assert "\n" not in message
    # The checker knows ids, not answers: without a problem every article has its line.
    assert problems or list(damaged) == list(answers)


def _news_id(maker: Maker, number: int) -> str:
    return f"{number}" + "".join(char for char in maker.sound_text(1) if char.isprintable())


# --- the score


def metric(maker: Maker, size: int) -> None:
    """The score equals what two loops over the pairs find, article by article and on the mean."""
    names = [maker.text(2) for _ in range(4)]
    names += [f" {names[0]}\u3000", f"{names[1]}\n"]  # outer blanks do not count

    def entities() -> list[Entity]:
        return [Entity(maker.rng.choice(names), maker.rng.choice(EMOTIONS)) for _ in range(maker.rng.randint(0, 4))]

    gold = {f"{number:05}": entities() for number in range(size)}
    pred = {news_id: entities() for news_id in gold if maker.rng.random() < 0.9}
    ids, scores = article_scores(gold, pred)
    assert ids == list(gold)
    total = 0.0
    for news_id, (entity, emotion) in zip(ids, scores.tolist(), strict=True):
        if news_id in pred:
            one, other = gold[news_id], pred[news_id]
            wanted = _naive(one, other, with_emotion=False), _naive(one, other, with_emotion=True)
            assert entity_f1([item.name for item in one], [item.name for item in other]) == entity
            assert emotion_f1(one, other) == emotion
        else:
            wanted = (0.0, 0.0) if gold[news_id] else (1.0, 1.0)
        assert abs(entity - wanted[0]) < 1e-12, (news_id, gold[news_id], pred.get(news_id))
        assert abs(emotion - wanted[1]) < 1e-12, (news_id, gold[news_id], pred.get(news_id))
        total += sum(wanted) / 2
    assert abs(evaluate(gold, pred, n_resamples=0).score - total / size) < 1e-9


def _naive(gold: list[Entity], pred: list[Entity], *, with_emotion: bool) -> float:
    def distinct(entities: list[Entity]) -> list[tuple[str, Emotion | None]]:
        found: list[tuple[str, Emotion | None]] = []
        for entity in entities:
            pair = (entity.name.strip(), entity.emotion if with_emotion else None)
            if pair not in found:
                found.append(pair)
        return found

    one, other = distinct(gold), distinct(pred)
    hits = sum(left == right for left in one for right in other)
    return 2 * hits / (len(one) + len(other)) if one or other else 1.0


# --- pages


class _Texts(HTMLParser):
    """Collects the elements, attributes and text that a browser would see."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, attrs))

    def handle_data(self, data: str) -> None:
        self.text += data


def html(maker: Maker, size: int, folder: Path) -> None:
    """Any text in a page is shown and does not act; any view in a data file reads back as it was."""
    for _ in range(size - 20):
        naming(_shown, maker.text())
    views = [view(number, title=maker.text(), content=maker.text(20), id_=maker.text(2) or "0") for number in range(20)]
    for path in folder.glob("*.js"):
        path.unlink()
    about = write_data(folder, views)
    (content,) = [path.read_text(encoding="utf-8") for path in folder.glob("articles-*.js")]
    call = re.fullmatch(r'reportData\("articles",0,(.*)\);\n', content, re.DOTALL)
    assert call is not None
    assert json.loads(call[1]) == json.loads(json.dumps(rounded(views)))
    assert not re.search("[<>&]", call[1])
    assert about["n_articles"] == 20


def _shown(text: str) -> None:
    parser = _Texts()
    parser.feed(tag("p", text, tag("b", "x"), title=text, data_id=text))
    parser.close()
    assert parser.tags == [("p", [("title", visible(text)), ("data-id", visible(text))]), ("b", [])]
    assert parser.text == f"{visible(text)}x"
    written = script_json({text: [text]})
    assert json.loads(written) == {_as_script(text): [_as_script(text)]}
    assert not HIDDEN.search(written)
    assert not re.search("[<>&]", written)


def _as_script(text: str) -> str:
    """Return a text as JSON and JavaScript hold it: two halves of a surrogate pair side by side are one character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
