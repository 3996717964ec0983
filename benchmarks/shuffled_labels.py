"""An automatic leak check: a training on labels that mean nothing must be no better, out-of-fold, than chance.

python -m benchmarks.shuffled_labels --train ../shared/data/sohu2019/train.jsonl --dictionary FILE --seed 1

Each article's gold entities are replaced by as many of its own candidates, drawn at random, and all emotions are
shuffled between them. What a training then knows of an article it was not fitted on can only be a leak: a hit rate, a
name list, a pruner, a fold or an emotion model that saw it. Chance is exact: what as many candidates as were answered
hit on average when drawn at random, and how often the same emotions would be right in any other order.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pipeline.artifacts import RunFolder, atomic_write_text
from pipeline.config import Config, load_config
from pipeline.data.read import read_training
from pipeline.entities.features import Extractor
from pipeline.metric import Interval, article_f1, article_scores, bootstrap_means
from pipeline.schema import Article, Emotion, Entity
from pipeline.text import default_segmenter
from pipeline.text.dictionary import read_dictionary
from pipeline.workflow.candidate_stage import dictionary_path
from pipeline.workflow.out_of_fold import gold_by_key, out_of_fold_emotions, out_of_fold_predictions
from pipeline.workflow.train import train
from pipeline.workflow.train_request import TrainRequest


@dataclass(frozen=True)
class Shuffled:
    """Articles with labels that mean nothing."""

    articles: list[Article]
    n_candidates: dict[str, int]
    """Candidates of each article, by newsId, among which its entities were drawn."""


@dataclass(frozen=True)
class AgainstChance:
    """A figure out-of-fold, what chance gives, and the mean difference over articles with its 95 % interval."""

    name: str
    value: float
    chance: float
    excess: Interval

    @property
    def leaks(self) -> bool:
        """Whether the figure is above chance by more than chance explains."""
        return self.excess.low > 0


@dataclass(frozen=True)
class LeakCheck:
    """What a training on shuffled labels knows of articles that it was not fitted on."""

    n_articles: int
    n_entities: int
    entities: AgainstChance
    """Mean F1 over articles."""
    emotions: AgainstChance
    """Accuracy over the gold entities."""
    majority: float
    """Accuracy of the most frequent emotion, always answered."""

    @property
    def leaks(self) -> bool:
        """Whether one of the figures is above chance."""
        return self.entities.leaks or self.emotions.leaks


def shuffle_labels(articles: Iterable[Article], config: Config, *, seed: int) -> Shuffled:
    """Give each labelled article random candidates as entities, and deal all emotions anew.

    The candidates are those that need no labels: words, word runs, dictionary names, 《》, quotes, Latin names. An
    article with fewer than it has entities keeps fewer.
    """
    rng = random.Random(seed)
    path = dictionary_path(config.candidates)
    extractor = Extractor(
        config.candidates,
        segmenter=default_segmenter(),
        dictionary=read_dictionary(path, max_chars=config.candidates.max_chars) if path else [],
        gold_names={},
    )
    drawn: list[tuple[Article, list[str]]] = []
    n_candidates = {}
    emotions: list[Emotion] = []
    for article in articles:
        found = extractor.candidates(article)
        n_candidates[article.news_id] = len(found)
        rows = rng.sample(range(len(found)), min(len(found), len(article.entities or ())))
        drawn.append((article, [found.surface(row) for row in rows]))
        emotions += [entity.emotion for entity in article.entities or ()][: len(rows)]
    rng.shuffle(emotions)
    deal = iter(emotions)
    relabelled = [
        Article(
            article.news_id,
            article.title,
            article.content,
            tuple(Entity(name, next(deal)) for name in names),
            article.truncated,
        )
        for article, names in drawn
    ]
    return Shuffled(relabelled, n_candidates)


def check_leaks(shuffled: Shuffled, config: Config, folder: Path) -> LeakCheck:
    """Train on shuffled labels in ``folder``, and hold the out-of-fold answers against chance.

    Args:
        shuffled: from ``shuffle_labels``.
        config: of a run of mode two_stage.
        folder: for the training file and the run.
    """
    rows = [_row(article) for article in shuffled.articles]
    source = folder / "shuffled.jsonl"
    atomic_write_text(source, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    run = RunFolder.create(folder / "models", "shuffled")
    train(TrainRequest([source], config), run)
    articles = read_training([source])
    gold = gold_by_key(articles)
    answers = out_of_fold_predictions(run)
    news_ids, scores = article_scores(gold, answers)
    expected = np.array(
        [chance_f1(len(answers.get(name, ())), len(gold[name]), shuffled.n_candidates[name]) for name in news_ids]
    )
    found = scores[:, 0]
    entities = AgainstChance("entity F1", float(found.mean()), float(expected.mean()), _interval(found - expected))
    emotions, majority = _emotions(gold, out_of_fold_emotions(run))
    n_entities = sum(map(len, gold.values()))
    return LeakCheck(len(news_ids), n_entities, entities, emotions, majority)


def chance_f1(n_answers: int, n_gold: int, n_candidates: int) -> float:
    """Return the mean F1 of one article when its answers are drawn at random from its candidates, gold ones among them.

    F1 is linear in the number of hits, whose mean is ``n_answers * n_gold / n_candidates`` (hypergeometric).
    """
    hits = n_answers * n_gold / n_candidates if n_candidates else 0.0
    return float(article_f1(np.array([hits]), np.array([n_answers]), np.array([n_gold]))[0])


def _emotions(
    gold: dict[str, tuple[Entity, ...]], answers: dict[tuple[str, str], Emotion]
) -> tuple[AgainstChance, float]:
    """Compare with the same answers dealt at random; the articles are resampled."""
    pairs = {
        news_id: [(entity.emotion, answers[news_id, entity.name]) for entity in entities]
        for news_id, entities in gold.items()
        if entities
    }
    flat = [pair for some in pairs.values() for pair in some]
    wanted, given = (Counter(side) for side in zip(*flat, strict=True))
    share = {emotion: wanted[emotion] / len(flat) for emotion in Emotion}
    chance = sum(share[emotion] * given[emotion] / len(flat) for emotion in Emotion)
    # Each entity's surplus over the share of the emotion it got; summed by article, since its entities go together.
    surplus = np.array([sum((want == got) - share[got] for want, got in some) for some in pairs.values()])
    per_entity = len(pairs) / len(flat)
    interval = Interval(*(bound * per_entity for bound in _interval(surplus)))
    accuracy = sum(want == got for want, got in flat) / len(flat)
    return AgainstChance("emotion accuracy", accuracy, chance, interval), max(share.values())


def _interval(values: NDArray[np.float64]) -> Interval:
    low, high = np.percentile(bootstrap_means(values), (2.5, 97.5)).tolist()
    return Interval(low, high)


def _row(article: Article) -> dict[str, object]:
    return {
        "newsId": article.news_id,
        "coreEntityEmotions": [
            {"entity": entity.name, "emotion": entity.emotion.value} for entity in article.entities or ()
        ],
        "title": article.title,
        "content": article.content,
        **({"truncated": True} if article.truncated else {}),
    }


def table(checks: Sequence[LeakCheck]) -> str:
    """Lay the figures out as Markdown, a row a figure of each check."""
    lines = ["| out-of-fold, shuffled labels | found | chance | above chance, 95 % interval | leak |"]
    lines.append("| --- | --- | --- | --- | --- |")
    for check in checks:
        for row in (check.entities, check.emotions):
            excess = f"{row.value - row.chance:+.4f} ({row.excess.low:+.4f} to {row.excess.high:+.4f})"
            leak = "YES" if row.leaks else "no"
            lines.append(f"| {row.name} | {row.value:.4f} | {row.chance:.4f} | {excess} | {leak} |")
        lines.append(f"| most frequent emotion | {check.majority:.4f} | | | |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; the exit code is 1 where a figure is above chance."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", type=Path, required=True, action="append", help="may be given several times")
    parser.add_argument("--dictionary", default="", help="entity dictionary; none by default")
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--seed", type=int, default=1, help="of the shuffling")
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args(arguments)
    # Left to choose, a training takes the most frequent emotion, which leaks nothing and tells nothing.
    emotions = ["sentiment.members=[tfidf]", "sentiment.choose=tfidf"]
    overrides = [f"candidates.dictionary={options.dictionary}", f"workers={options.workers}", *emotions]
    overrides += options.overrides
    config = load_config(preset=options.preset, overrides=overrides)
    shuffled = shuffle_labels(read_training(options.train), config, seed=options.seed)
    with tempfile.TemporaryDirectory() as folder:
        check = check_leaks(shuffled, config, Path(folder))
    print(f"{check.n_articles} articles, {check.n_entities} entities, preset {options.preset}, seed {options.seed}\n")
    print(table([check]))
    return int(check.leaks)


if __name__ == "__main__":
    raise SystemExit(main())
