"""Articles a second and peak memory: of each stage, of whole commands, against naive code and jieba.analyse.

python -m benchmarks.speed --run fast --articles test.jsonl --sizes 1000 --workers 1 2 --json speed.json
python -m benchmarks.speed --run fast --articles test.jsonl --gold test.jsonl --naive 40

Articles of a size are those given, again and again, with the sentences of the content turned round and numbers
changed. CPU seconds are those of all processes; on a busy machine they, not wall seconds, can be compared.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path
from typing import Any

import jieba
import jieba.analyse
import numpy as np

from benchmarks.memory import SAMPLE_S, memory_of
from benchmarks.naive import naive_candidates, naive_features
from benchmarks.peers import by_turns, of_jieba, ours, print_table
from pipeline.artifacts import atomic_write_json, open_run
from pipeline.data.read import iter_articles
from pipeline.entities.candidates import CandidateSet
from pipeline.runtime.parallel import chunked
from pipeline.schema import Article, Prediction
from pipeline.submission import SubmissionWriter
from pipeline.text import Document
from pipeline.workflow.entity_finder import Ranking
from pipeline.workflow.predict import Predictor
from pipeline.workflow.predict_stream import CHUNK_SIZE
from pipeline.workflow.traces import Heard

_SENTENCE = re.compile(r"[^。！？!?\n]*[。！？!?\n]*")
_DIGIT = re.compile(r"\d")


def many_articles(articles: Sequence[Article], n: int, *, seed: int = 0) -> Iterator[Article]:
    """Yield ``n`` articles with ids of their own: the given ones, then changed copies of about their length."""
    rng = random.Random(seed)
    for number, article in zip(range(n), (article for _ in count() for article in articles), strict=False):
        content = article.content
        if number >= len(articles):
            sentences = _SENTENCE.findall(content)
            turn = rng.randrange(len(sentences))
            content = _DIGIT.sub(lambda _: str(rng.randrange(10)), "".join(sentences[turn:] + sentences[:turn]))
        yield Article(f"{number:07d}", article.title, content)


def write_articles(path: Path, articles: Iterator[Article]) -> None:
    """Write unlabelled articles as JSON lines."""
    with path.open("w", encoding="utf-8") as file:
        for article in articles:
            row = {"newsId": article.news_id, "title": article.title, "content": article.content}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


class Stopwatch:
    """CPU seconds of this process by stage."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Count the block as part of a stage."""
        started = time.process_time()
        try:
            yield
        finally:
            self.seconds[stage] += time.process_time() - started

    def timed(self, stage: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that is counted whenever it is called."""

        def call(*arguments: Any, **options: Any) -> Any:
            with self(stage):
                return work(*arguments, **options)

        return call


class TimedPredictor(Predictor):
    """The predictor itself, with a stopwatch at the border of each stage."""

    watch: Stopwatch

    def _listen(self, articles: Sequence[Article]) -> list[Heard]:
        has_tagger = self.tagger is not None or self.joint is not None
        with self.watch("normalise, tagger" if has_tagger else "normalise"):
            return super()._listen(articles)

    def _offered(self, article: Article, heard: Heard) -> CandidateSet:
        with self.watch("candidates"):
            return super()._offered(article, heard)

    def _rank(self, offered: CandidateSet, heard: Heard) -> Ranking:
        before = self.watch.seconds["features"]
        with self.watch("rerank"):
            ranked = super()._rank(offered, heard)
        self.watch.seconds["rerank"] -= self.watch.seconds["features"] - before
        return ranked

    def _emotions(self, heard: Sequence[Heard], names: Sequence[Sequence[str]]) -> Any:
        with self.watch("emotion"):
            return super()._emotions(heard, names)


def time_stages(run: Path, articles: Sequence[Article], n: int, folder: Path) -> list[dict[str, Any]]:
    """Run the stages of a prediction in this process; return a row for each, and for loading."""
    path, watch = folder / "stages.jsonl", Stopwatch()
    write_articles(path, many_articles(articles, n))
    with watch("load the run"):
        predictor = TimedPredictor.load(run)
    predictor.watch = watch
    if predictor.finder is not None:
        extractor = predictor.finder.extractor
        extractor.describe = watch.timed("features", extractor.describe)  # type: ignore[method-assign]
    predictor.predict(list(many_articles(articles, 8)))  # what is built at first use
    loading = watch.seconds.pop("load the run")
    watch.seconds.clear()
    chunks = chunked(iter_articles(path, labelled=False), CHUNK_SIZE)
    predictions: list[Prediction] = []
    while True:
        with watch("read"):
            chunk = next(chunks, None)
        if chunk is None:
            break
        predictions += predictor.predict(chunk)
    with watch("write"), SubmissionWriter(folder / "stages.txt") as writer:
        for prediction in predictions:
            writer.write(prediction)
    rows = [_row(stage, n, seconds) for stage, seconds in watch.seconds.items()]
    total = _row("all stages", n, sum(watch.seconds.values()))
    return [*rows, total, {"what": "load the run", "articles": n, "cpu_s": round(loading, 2)}]


def time_command(run: str, articles: Sequence[Article], n: int, workers: int, folder: Path) -> dict[str, Any]:
    """Run the command ``predict`` as a process of its own; return its time and memory."""
    path = folder / f"{n}.jsonl"
    if not path.exists():
        write_articles(path, many_articles(articles, n))
    command = [sys.executable, "run.py", "predict", "--run", run, "--input", str(path), "--workers", str(workers)]
    load, started = os.getloadavg()[0], time.perf_counter()
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([*command, "--output", str(folder / "answer.txt")], stdout=log, stderr=log)
        peak = 0
        while True:
            peak = max(peak, memory_of(process.pid))
            done, status, used = os.wait4(process.pid, os.WNOHANG)
            if done:
                break
            time.sleep(SAMPLE_S)
    if status:
        raise SystemExit(f"{' '.join(command)} failed:\n{(folder / 'log').read_text()}")
    row = _row(f"predict, {workers} worker{'s' * (workers > 1)}", n, used.ru_utime + used.ru_stime)
    wall = time.perf_counter() - started
    return row | {
        "wall_s": round(wall, 2),
        "articles_per_wall_s": round(n / wall, 1),
        "peak_mb": round(peak / 2**20),
        "load_before": round(load, 1),
    }


def compare_with_naive(run: Path, articles: Sequence[Article], n: int) -> list[dict[str, Any]]:
    """Time candidates and features of our code and of naive code by turns in this process, and compare the columns."""
    predictor, watch = Predictor.load(run), Stopwatch()
    finder = predictor.finder
    if finder is None:
        raise SystemExit(f"{run}: has no reranker, so no features")
    names = list(finder.extractor.dictionary)
    jieba.lcut("预热")
    finder.offered(Document.of(articles[0]), None)
    for article in islice(articles, n):
        document = Document.of(article)
        with watch("candidates"):
            offered = finder.offered(document, None)
        with watch("features"):
            features = finder.extractor.describe(offered)
        with watch("naive candidates"):
            naive_candidates(document, names)
        keys = features.candidates.keys
        with watch("naive features"):
            columns = naive_features(document, keys)
        for name, values in columns.items():
            ours = features.matrix[:, features.names.index(name)]
            np.testing.assert_allclose(ours, values, rtol=1e-5, atol=1e-5, err_msg=name)
    seconds = watch.seconds
    rows = [_row(what, n, seconds[what]) for what in seconds]
    for what in ("candidates", "features"):
        rows.append({"what": f"naive / ours, {what}", "ratio": round(seconds[f"naive {what}"] / seconds[what], 1)})
    own, naive = (seconds[f"{side}candidates"] + seconds[f"{side}features"] for side in ("", "naive "))
    return [*rows, {"what": "naive / ours, both", "ratio": round(naive / own, 1)}]


def compare_with_jieba(run: Path, articles: Sequence[Article]) -> list[dict[str, Any]]:
    """Answer labelled articles with the run and with jieba's extractors, by turns."""
    rankers = {
        "this run": ours(Predictor.load(run)),
        "jieba TF-IDF, top 3": of_jieba(jieba.analyse.extract_tags),
        "jieba TextRank, top 3": of_jieba(jieba.analyse.textrank),
    }
    return by_turns(rankers, articles)


def _row(what: str, n: int, cpu_s: float) -> dict[str, Any]:
    return {
        "what": what,
        "articles": n,
        "cpu_s": round(cpu_s, 2),
        "cpu_ms_per_article": round(cpu_s / n * 1000, 2),
        "articles_per_cpu_s": round(n / max(cpu_s, 1e-9), 1),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what was asked for, print tables, and write the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", help="run under models/; the newest by default")
    parser.add_argument("--articles", type=Path, nargs="+", required=True, help="files whose articles are repeated")
    parser.add_argument("--stages", type=int, default=0, metavar="N", help="time every stage on N articles")
    parser.add_argument("--sizes", type=int, nargs="*", default=[], help="articles of whole commands")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2], help="processes of whole commands")
    parser.add_argument("--naive", type=int, default=0, metavar="N", help="compare with naive code on N articles")
    parser.add_argument("--gold", type=Path, help="labelled file, to compare with jieba.analyse")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    run = open_run(Path("models"), options.run)
    articles = [article for path in options.articles for article in iter_articles(path)]
    tables: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        jieba.dt.tmp_dir = name
        if options.stages:
            tables["stages"] = time_stages(run.path, articles, options.stages, folder)
        if options.naive:
            tables["naive"] = compare_with_naive(run.path, articles, options.naive)
        if options.gold:
            tables["jieba"] = compare_with_jieba(run.path, list(iter_articles(options.gold, labelled=True)))
        if options.sizes:
            pairs = [(size, workers) for size in options.sizes for workers in options.workers]
            tables["commands"] = [time_command(run.name, articles, *pair, folder) for pair in pairs]
    print(f"{os.cpu_count()} CPUs, load average {os.getloadavg()[0]:.1f}, run {run.name}")
    for rows in tables.values():
        print_table(rows)
    if options.json:
        atomic_write_json(options.json, {"cpus": os.cpu_count(), "load": os.getloadavg(), "run": run.name, **tables})


if __name__ == "__main__":
    main()
