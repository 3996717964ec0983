"""This program beside simpler ones, by turns in one process: CPU time an article, and F1 where there are gold answers.

python -m benchmarks.peers --run fast --articles test.jsonl --train train.jsonl --dictionary nerDict.txt.gz

Every ranker answers 32 articles, then the next one does, so that whatever else the machine does slows all of them.
The baseline is the organiser's recipe written anew and fairly: names of the dictionary among jieba's words by a set,
the most frequent three; emotions by a linear support vector machine on TF-IDF, one sparse product a chunk.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import jieba
import numpy as np

from pipeline.artifacts import atomic_write_json, open_run
from pipeline.data.read import iter_articles
from pipeline.metric import article_f1
from pipeline.runtime.parallel import chunked
from pipeline.schema import Article
from pipeline.text import match_key
from pipeline.text.dictionary import read_dictionary
from pipeline.workflow.predict import Predictor
from pipeline.workflow.predict_stream import CHUNK_SIZE

Answer = dict[str, str | None]
"""Names as match keys, with their emotions where a ranker tells them."""
Ranker = Callable[[list[Article]], list[Answer]]

N_NAMES = 3
TITLE_WEIGHT = 3
"""A mention in the title counts as so many."""


def text_of(article: Article) -> str:
    """Return the title, a line break, and the content."""
    return f"{article.title}\n{article.content}"


class FrequencyAndSvm:
    """The most frequent names of a dictionary, and the emotion of the article's words for each of them.

    Args:
        names: of the dictionary, as match keys.
        articles: with gold answers, to learn emotions from.
    """

    def __init__(self, names: Iterable[str], articles: Sequence[Article]) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.svm import LinearSVC

        self._names = frozenset(names)
        tokenizer = jieba.Tokenizer()  # that of the module serves the other rankers
        tokenizer.tmp_dir = jieba.dt.tmp_dir
        for name in sorted(self._names):
            tokenizer.add_word(name)
        self._cut = tokenizer.lcut
        labelled = [article for article in articles if article.entities]
        rows = [row for row, article in enumerate(labelled) for _ in article.entities or ()]
        gold = [entity.emotion.value for article in labelled for entity in article.entities or ()]
        self._vectorizer = TfidfVectorizer(analyzer=_same, min_df=3, sublinear_tf=True)
        words = [self._cut(text_of(article).lower()) for article in labelled]
        self._model = LinearSVC().fit(self._vectorizer.fit_transform(words)[rows], gold)

    def __call__(self, articles: list[Article]) -> list[Answer]:
        """Answer a chunk of articles."""
        words = [self._cut(text_of(article).lower()) for article in articles]
        emotions = self._model.predict(self._vectorizer.transform(words))
        return [
            dict.fromkeys(self._ranked(article, of_article), str(emotion))
            for article, of_article, emotion in zip(articles, words, emotions, strict=True)
        ]

    def _ranked(self, article: Article, words: Sequence[str]) -> list[str]:
        found = Counter(word for word in words if len(word) > 1 and word in self._names)
        title = article.title.lower()
        scores = {name: count + TITLE_WEIGHT * (name in title) for name, count in found.items()}
        return sorted(scores, key=lambda name: -scores[name])[:N_NAMES]


def _same(words: list[str]) -> list[str]:
    return words


def ours(predictor: Predictor) -> Ranker:
    """Return this program as a ranker."""

    def answer(articles: list[Article]) -> list[Answer]:
        return [
            {match_key(entity.name): entity.emotion.value for entity in prediction.entities}
            for prediction in predictor.predict(articles)
        ]

    return answer


def of_jieba(extract: Callable[..., list[str]]) -> Ranker:
    """Return one of jieba's keyword extractors as a ranker; it knows no emotions."""

    def answer(articles: list[Article]) -> list[Answer]:
        return [{match_key(word): None for word in extract(text_of(article), topK=N_NAMES)} for article in articles]

    return answer


def by_turns(rankers: dict[str, Ranker], articles: Sequence[Article], *, rounds: int = 3) -> list[dict[str, Any]]:
    """Let each ranker answer each chunk in turn; return a row for each with its median round."""
    for rank in rankers.values():
        rank(list(articles[:2]))  # what is built at first use
    seconds: dict[str, list[float]] = defaultdict(list)
    answers: dict[str, list[Answer]] = {}
    for _ in range(rounds):
        used = dict.fromkeys(rankers, 0.0)
        answers = {what: [] for what in rankers}
        for chunk in chunked(articles, CHUNK_SIZE):
            for what, rank in rankers.items():
                started = time.process_time()
                answers[what] += rank(chunk)
                used[what] += time.process_time() - started
        for what, one in used.items():
            seconds[what].append(one)
    return [
        {"ranker": what, "cpu_ms_per_article": round(float(np.median(seconds[what])) / len(articles) * 1000, 2)}
        | _scores(answers[what], articles)
        for what in rankers
    ]


def _scores(answers: Sequence[Answer], articles: Sequence[Article]) -> dict[str, float]:
    """Return the mean entity F1 of answers, and that of entities with emotions where there are any."""
    if not all(article.entities for article in articles):
        return {}
    gold = [{match_key(one.name): one.emotion.value for one in article.entities or ()} for article in articles]
    n_gold = np.array([len(one) for one in gold], dtype=np.float64)
    n_given = np.array([len(one) for one in answers], dtype=np.int64)
    pairs = list(zip(answers, gold, strict=True))
    names = np.array([len(given.keys() & true.keys()) for given, true in pairs], dtype=np.float64)
    found = {"entity_f1": round(float(article_f1(names, n_given, n_gold).mean()), 4)}
    if any(emotion for answer in answers for emotion in answer.values()):
        both = np.array([len(given.items() & true.items()) for given, true in pairs], dtype=np.float64)
        found["entity_emotion_f1"] = round(float(article_f1(both, n_given, n_gold).mean()), 4)
    return found


def print_table(rows: Sequence[dict[str, Any]]) -> None:
    """Print rows as Markdown, each column that any of them has."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    print("\n| " + " | ".join(columns) + " |\n|" + " --- |" * len(columns))
    for row in rows:
        print("| " + " | ".join(str(row.get(column, "")) for column in columns) + " |")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print a table, and write the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", help="run under models/; the newest by default")
    parser.add_argument("--articles", type=Path, nargs="+", required=True, help="labelled files, to answer")
    parser.add_argument("--train", type=Path, help="labelled file the baseline learns emotions from; without, none")
    parser.add_argument("--dictionary", type=Path, help="names of the baseline, one a line")
    parser.add_argument("--limit", type=int, help="articles")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    import jieba.analyse  # leaves a file open, which tests do not forgive

    run = open_run(Path("models"), options.run)
    articles = [article for path in options.articles for article in iter_articles(path, labelled=True)]
    rankers: dict[str, Ranker] = {"this run": ours(Predictor.load(run.path))}
    with tempfile.TemporaryDirectory() as folder:
        jieba.dt.tmp_dir = folder
        rankers["jieba TF-IDF, top 3"] = of_jieba(jieba.analyse.extract_tags)
        rankers["jieba TextRank, top 3"] = of_jieba(jieba.analyse.textrank)
        if options.train and options.dictionary:
            names = read_dictionary(options.dictionary)
            learnt = list(iter_articles(options.train, labelled=True))
            rankers["frequency and SVM"] = FrequencyAndSvm(names, learnt)
        rows = by_turns(rankers, articles[: options.limit], rounds=options.rounds)
    print(f"{os.cpu_count()} CPUs, load average {os.getloadavg()[0]:.1f}, run {run.name}")
    print_table(rows)
    if options.json:
        atomic_write_json(
            options.json, {"cpus": os.cpu_count(), "load": os.getloadavg(), "run": run.name, "rows": rows}
        )


if __name__ == "__main__":
    main()
