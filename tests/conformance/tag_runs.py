"""Cases about tags, run through public functions; the inputs are plain JSON values."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from pipeline.config import TaggerConfig
from pipeline.data.read import parse_article
from pipeline.entities.taggers.data import LabelReport, tag_text, window_tags
from pipeline.entities.taggers.windows import cut_windows, join_windows
from pipeline.entities.tagging import article_text, mention_spans
from pipeline.nn.encoders import SpecialIds
from pipeline.nn.encoders.chinese_pieces import wordpiece
from pipeline.nn.tokenisers import CharacterTokeniser, PieceTokeniser, Tokeniser
from pipeline.schema import Article
from pipeline.text import Document, match_key
from pipeline.text.spans import LabelledText, SchemeName, ScoredSpan, TagScheme

Row = dict[str, Any]


def offsets(given: Mapping[str, Any]) -> list[Row]:
    """Return every mention of the entities in the untouched fields of an article."""
    raw = json.loads(given["raw_line"]) if "raw_line" in given else given["article"]
    document = Document.of(parse_article(raw))
    names = {name: name for name in given["entities"]}
    return [
        _mention_row(document, span.start, span.stop) | {"entity": span.label}
        for span in mention_spans(document, names)
    ]


def tag_roundtrip(given: Mapping[str, Any], scheme: SchemeName) -> tuple[list[Row], LabelReport]:
    """Tag a text's entities, decode the tags, and return what they spell, with what could not be tagged."""
    emotions = dict(given["entities"])
    document = Document.of(Article("case", "", given["text"]))
    labelled = article_text(document, emotions)
    tags = TagScheme(scheme, tuple(dict.fromkeys(emotions.values())))
    report = LabelReport()
    tagged = tag_text(labelled, _tokeniser(given, labelled), tags, report)
    assert tagged.tags is not None
    found: dict[tuple[str, str], list[Row]] = {}
    for start, stop, label in tags.decode([tags.tags[max(0, tag)] for tag in tagged.tags]):
        span = tagged.characters(ScoredSpan(start, stop, 1.0, label))
        row = _mention_row(document, span.start, span.stop)
        found.setdefault((match_key(row["surface"]), label), []).append(row)
    decoded = [
        {
            "entity": Counter(row["surface"] for row in rows).most_common(1)[0][0],
            "emotion": emotion,
            "spans": [[row["start"], row["end"]] for row in rows],
        }
        for (_, emotion), rows in found.items()
    ]
    return decoded, report


def decode(given: Mapping[str, Any]) -> dict[str, list[list[int]]]:
    """Decode tags under both policies."""
    labels = tuple(dict.fromkeys(tag.partition("-")[2] for tag in given["tags"]))
    scheme = TagScheme(given["scheme"], labels or ("",))
    return {
        policy: [[span.start, span.stop] for span in scheme.decode(given["tags"], strict=policy == "strict")]
        for policy in ("strict", "lenient")
    }


def window(given: Mapping[str, Any], config: TaggerConfig | None = None) -> list[Row]:
    """Tag each window of a long article by itself, as if by a perfect tagger, and join what the windows say."""
    config = config or TaggerConfig()
    content = "".join(part["text"] * part["repeat"] for part in given["content_build"])
    document = Document.of(Article("case", given["title"], content))
    labelled = article_text(document, {given["entity"]: ""})
    scheme = TagScheme("BIESO")
    tagged = tag_text(labelled, _tokeniser(given, labelled), scheme)
    assert tagged.tags is not None
    windows = cut_windows(len(tagged), size=config.window_tokens, overlap=config.overlap_tokens)
    found = [
        [
            ScoredSpan(start, stop, 1.0, label)
            for start, stop, label in scheme.decode(
                [scheme.tags[max(0, tag)] for tag in window_tags(tagged.tags, scheme, *place)]
            )
        ]
        for place in windows
    ]
    spans = [tagged.characters(span) for span in join_windows(windows, found)]
    return [_mention_row(document, span.start, span.stop) for span in spans]


def _tokeniser(given: Mapping[str, Any], text: LabelledText) -> Tokeniser:
    if "vocab" not in given:
        return CharacterTokeniser.fit([text.text])
    vocabulary = list(given["vocab"])
    special = SpecialIds(*(vocabulary.index(token) for token in ("[PAD]", "[UNK]", "[CLS]", "[SEP]")))
    return PieceTokeniser(wordpiece(vocabulary), special)


def _mention_row(document: Document, start: int, stop: int) -> Row:
    mention = document.mention(start, stop)
    return {"field": mention.field, "start": mention.start, "end": mention.end, "surface": mention.surface}
