"""Kinds joint_decode and joint_vote: spans with emotions from a joint tagger's output, and the emotion of a name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from pipeline.emotions.sentiment.scores import likeliest
from pipeline.entities.taggers.reader import span_labels
from pipeline.joint import EmotionVoter, NameVotes
from pipeline.schema import EMOTIONS, Emotion
from pipeline.text import match_key
from pipeline.text.spans import ScoredSpan, Span, TagScheme

from .framework import Adapter, CaseError, Check, Given, Tools, equals

VOTER = EmotionVoter().fit(np.full((3, 3), 0.2) + np.eye(3) / 2, list(EMOTIONS), folds=[0, 1, 2])
"""Fitted on votes for each emotion alike: it prefers none."""
ONLY = "甲"
"""Stands for the name of mentions that have none."""
LABELS = [emotion.value for emotion in EMOTIONS]


@dataclass(frozen=True)
class Votes:
    """Emotions and summed probabilities by name, in order of first occurrence."""

    emotions: dict[str, str]
    sums: dict[str, list[float]]


@dataclass(frozen=True)
class Decoded:
    """Spans in characters (in tags, where there is no text), and the entities that they name."""

    strict: list[Span]
    lenient: list[Span]
    votes: Votes


def _votes(text: str, spans: Sequence[ScoredSpan], names: Mapping[str, str]) -> Votes:
    """Judge names by a text's scored spans, as a prediction does; ``names`` maps keys to the spelling of the case."""
    found = NameVotes.of(text, spans)
    spelt = [names.get(key, key) for key in found.keys]
    emotions = [emotion.value for emotion in likeliest(VOTER.probs(found.emotions))]
    return Votes(dict(zip(spelt, emotions, strict=True)), dict(zip(spelt, found.emotions.tolist(), strict=True)))


def _triple(given: Any) -> list[float]:
    """Read an emotion, [POS, NORM, NEG] probabilities, or probabilities by emotion."""
    if isinstance(given, str):
        return [float(Emotion(given) == emotion) for emotion in EMOTIONS]
    if isinstance(given, Mapping):
        if unknown := set(given) - set(EMOTIONS):
            raise CaseError(f"emotions {sorted(unknown)} are not understood")
        return [float(given.get(emotion, 0.0)) for emotion in EMOTIONS]
    if len(given) != len(EMOTIONS):
        raise CaseError(f"{given}: want a probability for each of {', '.join(EMOTIONS)}")
    return [float(prob) for prob in given]


# --- joint_decode


def joint_decode(given: Given, tools: Tools) -> Decoded:
    """Decode joined tags, or bare tags with the emotions of a second head."""
    tags: list[str] = given["tags"]
    tokens = given.get("tokens")
    text = given.get("text", "".join(tokens or ()))
    places = _places(text, tokens, len(tags))
    of_token = given.first("emotions", "emotion_probs")
    name = given.get("scheme", "BIESO" if any(tag[0] in "ES" for tag in tags) else "BIO")
    scheme = TagScheme(name, ("",) if of_token is not None else tuple(EMOTIONS))

    def scored(*, strict: bool) -> list[list[ScoredSpan]]:
        """Return each span once for each emotion that it may have, as a tagger scores it."""
        found = []
        for start, stop, label in scheme.decode(tags, strict=strict):
            probs = _triple(label) if of_token is None else span_labels(_triples(of_token), start, stop).tolist()
            place = places[start][0], places[stop - 1][1]
            found.append([ScoredSpan(*place, *answer) for answer in zip(probs, LABELS, strict=True)])
        return found

    strict = scored(strict=True)
    return Decoded(
        [_decided(span) for span in strict],
        [_decided(span) for span in scored(strict=False)],
        _votes(text, [answer for span in strict for answer in span], {}),
    )


def _decided(answers: Sequence[ScoredSpan]) -> Span:
    """Return a span with its likeliest emotion, for which it votes alone."""
    start, stop = answers[0][:2]
    alone = [ScoredSpan(0, 1, prob, label) for _, _, prob, label in answers]
    return Span(start, stop, next(iter(_votes(ONLY, alone, {}).emotions.values())))


def _triples(given: Sequence[Any]) -> np.ndarray:
    return np.array([_triple(emotion) for emotion in given])


def _places(text: str, tokens: Sequence[str] | None, n_tags: int) -> list[tuple[int, int]]:
    """Return each token's characters in the text; without tokens, every character is one."""
    pieces = list(text) if tokens is None and text else tokens or ["字"] * n_tags
    if len(pieces) != n_tags:
        raise CaseError(f"{n_tags} tags for {len(pieces)} tokens")
    places, position = [], 0
    for piece in pieces:
        start = text.find(piece, position) if text else position
        if start < 0:
            raise CaseError(f"token {piece!r} is not in the text")
        position = start + len(piece)
        places.append((start, position))
    return places


def _same_spans(found: Sequence[Span], wanted: Any) -> None:
    rows = [
        [row["start"], row.get("stop", row.get("end")), row["emotion"]] if isinstance(row, Mapping) else row
        for row in wanted
    ]
    assert [list(span)[: len(row)] for span, row in zip(found, rows, strict=True)] == [list(row) for row in rows]


def _same_emotions(votes: Votes, wanted: Any) -> None:
    """Compare with {name: emotion}, or with pairs or objects in any order."""
    if not isinstance(wanted, Mapping):
        pairs = [(row["entity"], row["emotion"]) if isinstance(row, Mapping) else tuple(row) for row in wanted]
        assert len(pairs) == len(dict(pairs))
        wanted = dict(pairs)
    assert votes.emotions == wanted


def _never_raises(found: Decoded, wanted: bool) -> None:
    assert wanted, "a decoder that may raise is not asked for"
    assert isinstance(found, Decoded)  # it has returned


JOINT_DECODE = Adapter(
    joint_decode,
    {
        **dict.fromkeys(("spans", "strict"), lambda found, wanted: _same_spans(found.strict, wanted)),
        "lenient": lambda found, wanted: _same_spans(found.lenient, wanted),
        **dict.fromkeys(("entities", "decoded"), lambda found, wanted: _same_emotions(found.votes, wanted)),
        "n_entities": equals(lambda found: len(found.votes.emotions)),
        "never_raises": _never_raises,
    },
)


# --- joint_vote


def joint_vote(given: Given, tools: Tools) -> Votes:
    """Give every mention a place in a text, with the probabilities of the case, and count."""
    text, names = "", {}
    spans: list[ScoredSpan] = []
    for name, probs in _mentions(given["mentions"]):
        key = match_key(name)
        names.setdefault(key, name)
        for emotion, prob in zip(EMOTIONS, probs, strict=True):
            spans.append(ScoredSpan(len(text), len(text) + len(key), prob, emotion.value))
        text += f"{key}。"
    return _votes(text, spans, names)


def _mentions(given: Any) -> list[tuple[str, list[float]]]:
    if isinstance(given, Mapping):  # name to mentions
        return [(name, _probs(mention)) for name, mentions in given.items() for mention in mentions]
    rows = []
    for mention in given:
        if isinstance(mention, Mapping):
            fields = dict(mention)
            name = next((fields.pop(key) for key in ("entity", "name", "surface") if key in fields), ONLY)
            rows.append((name, _probs(fields)))
        elif isinstance(mention[0], str) and mention[0] not in set(EMOTIONS):
            rest = list(mention[1:])
            rows.append((mention[0], _probs(rest[0] if len(rest) == 1 else rest)))
        else:
            rows.append((ONLY, _probs(mention)))
    return rows


def _probs(mention: Any) -> list[float]:
    """Read what a mention says: an emotion with its probability, or probabilities of all."""
    if isinstance(mention, Mapping) and not set(mention) <= set(EMOTIONS):
        probs = next((mention[key] for key in ("probs", "emotion_probs", "probabilities") if key in mention), None)
        if probs is not None and len(mention) == 1:
            return _triple(probs)
        prob = next((mention[key] for key in ("prob", "p", "probability", "score") if key in mention), None)
        if set(mention) - {"emotion", "prob", "p", "probability", "score"} or "emotion" not in mention:
            raise CaseError(f"mention {dict(mention)} is not understood")
        return _scaled(mention["emotion"], 1.0 if prob is None else prob)
    if isinstance(mention, Sequence) and not isinstance(mention, str) and isinstance(mention[0], str):
        return _scaled(*mention)
    return _triple(mention)


def _scaled(emotion: str, prob: float = 1.0) -> list[float]:
    return [value * prob for value in _triple(emotion)]


def _same_sums(votes: Votes, wanted: Any) -> None:
    for name, sums in wanted.items():
        assert votes.sums[name] == pytest.approx(_triple(sums))


def _of_name(key: str, values: Mapping[str, Any]) -> Check | None:
    """Return the check of a key that is the name of a mention."""
    if key not in {name for name, _ in _mentions(values.get("mentions", ()))}:
        return None
    return equals(lambda votes: votes.emotions[key])


JOINT_VOTE = Adapter(
    joint_vote,
    {
        **dict.fromkeys(("emotions", "entities"), _same_emotions),
        "emotion": equals(lambda votes: next(iter(votes.emotions.values()))),
        **dict.fromkeys(("sums", "votes"), _same_sums),
    },
    _of_name,
)
