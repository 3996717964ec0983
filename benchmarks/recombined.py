"""Labelled articles made of the sentences of others, as many as wanted: for time and memory, not for quality.

python -m benchmarks.recombined --labelled train.jsonl --filler news.jsonl --articles 40000 --output official.jsonl

An article keeps the entities of a labelled one and some sentences that name them. The rest comes from all texts at
random, to the length of that article. Most names are exchanged for those of other articles, title and sentences
included. So no two articles share half of their text, and folds are cut as for real ones.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from pipeline.data.read import iter_articles
from pipeline.schema import Article

SENTENCE = re.compile(r"[^。！？!?\n]+[。！？!?\n]*")
NAMED_SHARE = 0.35
"""Most of an article that comes from the labelled one; from a half on two articles would count as one."""
EXCHANGED = 0.7
"""Names that are exchanged."""


def sentences_of(text: str) -> list[str]:
    """Cut a text behind its full stops and line breaks."""
    return [sentence for sentence in SENTENCE.findall(text) if sentence.strip()]


def recombined(
    labelled: Sequence[Article], filler: Sequence[Article], n_articles: int, *, seed: int
) -> Iterator[dict[str, object]]:
    """Yield labelled rows, whose ids tell the number of each.

    Args:
        labelled: articles with entities.
        filler: others, whose sentences are used too.
        n_articles: how many to make.
        seed: of all that is drawn.

    Raises:
        ValueError: no article names an entity of its own.
    """
    rng = random.Random(seed)
    pool = [sentence for article in (*labelled, *filler) for sentence in sentences_of(article.content)]
    titles = [article.title for article in (*labelled, *filler) if len(article.title) > 3]
    names = sorted({entity.name for article in labelled for entity in article.entities or ()})
    bases = [
        article for article in labelled if any(entity.name in article.content for entity in article.entities or ())
    ]
    if not bases:
        raise ValueError("no article names an entity of its own")
    for number in range(n_articles):
        if number % len(bases) == 0:
            rng.shuffle(bases)
        base = bases[number % len(bases)]
        title, body = f"{_half(base.title)}{_half(rng.choice(titles), end=True)}", _body(base, pool, rng)
        entities: list[dict[str, str]] = []
        for entity in base.entities or ():
            name = rng.choice(names) if rng.random() < EXCHANGED else entity.name
            if any(name in other or other in name for other in entities_names(entities)):
                name = entity.name
            title, body = title.replace(entity.name, name), body.replace(entity.name, name)
            entities.append({"entity": name, "emotion": entity.emotion.value if entity.emotion else "NORM"})
        yield {"newsId": f"made{number:06}", "title": title, "content": body, "coreEntityEmotions": entities}


def entities_names(entities: Sequence[dict[str, str]]) -> list[str]:
    """Return the names of entities that were chosen already."""
    return [entity["entity"] for entity in entities]


def _half(title: str, *, end: bool = False) -> str:
    middle = len(title) // 2
    return title[middle:] if end else title[:middle]


def _body(base: Article, pool: Sequence[str], rng: random.Random) -> str:
    """Return sentences of the article that name its entities, each entity once at least, among those of others."""
    own = sentences_of(base.content)
    rng.shuffle(own)
    length = len(base.content)
    kept: list[str] = []
    for entity in base.entities or ():  # whatever the length, each has a sentence
        if not any(entity.name in sentence for sentence in kept):
            kept += [sentence for sentence in own if entity.name in sentence][:1]
    names = [entity.name for entity in base.entities or ()]
    for sentence in own:
        if sum(map(len, kept)) + len(sentence) > NAMED_SHARE * length:
            break
        if sentence not in kept and any(name in sentence for name in names):
            kept.append(sentence)
    n_chars = sum(map(len, kept))
    while n_chars < length:
        kept.append(rng.choice(pool))
        n_chars += len(kept[-1])
    rng.shuffle(kept)
    return "".join(kept)


def main() -> None:
    """Write the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--labelled", type=Path, action="append", required=True, help="may be given several times")
    parser.add_argument("--filler", type=Path, action="append", default=[], help="texts for their sentences")
    parser.add_argument("--articles", type=int, default=40_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    labelled = [article for path in options.labelled for article in iter_articles(path, labelled=True)]
    filler = [article for path in options.filler for article in iter_articles(path, labelled=False)]
    with options.output.open("w", encoding="utf-8") as file:
        for row in recombined(labelled, filler, options.articles, seed=options.seed):
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
