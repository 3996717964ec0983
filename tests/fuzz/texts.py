"""Properties of normalised text, candidates and tags."""

from __future__ import annotations

import re
from itertools import pairwise

from pipeline.config import CandidateConfig
from pipeline.entities.candidates import CandidateGenerator
from pipeline.schema import Article
from pipeline.text import Document, default_segmenter, match_key, normalise, split_sentences
from pipeline.text.dictionary import Matcher
from pipeline.text.spans import OUTSIDE, Span, TagScheme

from .inputs import Maker, naming

SCHEMES = [TagScheme(name, labels) for name in ("BIO", "BIESO") for labels in (("",), ("POS", "NORM", "NEG"))]


def offsets(maker: Maker, size: int) -> None:
    """Normalised characters lead into the untouched text, in order; normalising again changes nothing."""
    for _ in range(size):
        naming(_offsets, maker.text())
    document = Document.of(Article("a", maker.text(), maker.text()))
    for field, part in (("title", document.title), ("content", document.content)):
        shift = 0 if field == "title" else document.content_start
        for start in range(len(part.text)):
            stop = maker.rng.randint(start + 1, len(part.text))
            mention = document.mention(start + shift, stop + shift)
            assert mention.surface == document.article.field(field)[mention.start : mention.end]
    assert "".join(document.text[slice(*span)] for span in split_sentences(document.text)) == document.text


def _offsets(raw: str) -> None:
    found = normalise(raw)
    assert len(found.text) == len(found.starts) == len(found.ends)
    assert all(0 <= start < end <= len(raw) for start, end in zip(found.starts, found.ends, strict=True))
    assert all(left <= right for left, right in pairwise(found.starts))
    assert all(left <= right for left, right in pairwise(found.ends))
    assert not any(left.isspace() and right.isspace() for left, right in pairwise(found.text))
    assert found.text.encode() is not None  # no half of a surrogate pair is left
    assert match_key(raw) == found.text.strip()
    if not re.search(r"[&<]|http|www", found.text):
        assert normalise(found.text).text == found.text


def candidates(maker: Maker, size: int) -> None:
    """Every candidate stands where it says and nowhere else; its spelling is a slice of the article."""
    names = sorted({key for key in (match_key(maker.text(2)) for _ in range(8)) if len(key) > 1 and "\n" not in key})
    generator = CandidateGenerator(CandidateConfig(), segmenter=default_segmenter(), dictionary=Matcher(names))
    for _ in range(size):
        article = Article("a", maker.text(6), maker.text(25))
        naming(lambda article: _candidates(generator, names, article), article)


def _candidates(generator: CandidateGenerator, names: list[str], article: Article) -> None:
    document = Document.of(article)
    found = generator.generate(document)
    assert len(set(found.keys)) == len(found.keys) == len(found.offsets) - 1
    for row, key in enumerate(found.keys):
        spans = found.spans(row)
        assert spans == _occurrences(document.text, key)
        for mention in found.mentions(row):
            assert mention.surface == article.field(mention.field)[mention.start : mention.end]
        assert found.surface(row) in article.title or found.surface(row) in article.content
    if not document.has_reference_blank(0, len(document.text)):
        assert {name for name in names if _occurrences(document.text, name)} <= set(found.keys)


def _occurrences(text: str, key: str) -> list[tuple[int, int]]:
    """Search position by position; a Latin edge may not lie inside a Latin run. Shares no code with the matcher."""
    begin = r"(?<![a-zA-Z0-9])" if re.match("[a-zA-Z0-9]", key) else ""
    end = r"(?![a-zA-Z0-9])" if re.search("[a-zA-Z0-9]$", key) else ""
    pattern = re.compile(f"{begin}(?={re.escape(key)}{end})")
    return [(match.start(), match.start() + len(key)) for match in pattern.finditer(text)]


def tags(maker: Maker, size: int) -> None:
    """Decoding what was encoded gives the spans; any tags decode as a pattern says."""
    for _ in range(size // 2):
        naming(_encoded, _spans(maker))
        scheme = maker.rng.choice(SCHEMES)
        strange = ["X", "", "-", "B-?", maker.text(2)] if maker.rng.random() < 0.1 else []
        naming(_decoded, (scheme, maker.rng.choices([*scheme.tags, *strange], k=maker.rng.randint(0, 15))))


def _spans(maker: Maker) -> tuple[TagScheme, list[Span], int]:
    scheme, spans, position = maker.rng.choice(SCHEMES), [], 0
    for _ in range(maker.rng.randint(0, 5)):
        start = position + maker.rng.randint(0, 2)
        position = start + maker.rng.randint(1, 4)
        spans.append(Span(start, position, maker.rng.choice(scheme.labels)))
    return scheme, spans, position + maker.rng.randint(0, 2)


def _encoded(case: tuple[TagScheme, list[Span], int]) -> None:
    scheme, spans, length = case
    tags_ = scheme.encode(spans, length)
    assert len(tags_) == length
    assert scheme.decode(tags_) == scheme.decode(tags_, strict=False) == spans
    ids = [scheme.ids[tag] for tag in tags_]
    assert all(scheme.allowed[step] for step in pairwise(ids))


def _decoded(case: tuple[TagScheme, list[str]]) -> None:
    scheme, tags_ = case
    for strict in (True, False):
        found = scheme.decode(tags_, strict=strict)
        assert all(0 <= span.start < span.stop <= len(tags_) for span in found)
        assert all(left.stop <= right.start for left, right in pairwise(found))
    if set(tags_) <= set(scheme.tags):
        assert scheme.decode(tags_) == _by_pattern(scheme, tags_)


def _by_pattern(scheme: TagScheme, tags_: list[str]) -> list[Span]:
    """Find whole entities with a regular expression over one letter a tag: an oracle that shares no code."""
    found = []
    for label in scheme.labels:
        own = {f"{prefix}-{label}" if label else prefix: prefix for prefix in "BIES"}
        letters = "".join("O" if tag == OUTSIDE else own.get(tag, "x") for tag in tags_)
        pattern = "BI*" if scheme.name == "BIO" else "S|BI*E"
        found += [Span(*match.span(), label) for match in re.finditer(pattern, letters)]
    return sorted(found)
