"""Kind repro: the same input gives the same bytes, whatever varies around it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from pipeline.data.read import parse_article
from pipeline.entities.candidates import Source
from pipeline.entities.features import Extractor
from pipeline.runtime.parallel import map_chunks
from pipeline.schema import Article
from pipeline.text import match_key
from pipeline.workflow.predict import Predictor

from .framework import Adapter, CaseError, Given, Tools, as_line, equals

FIXTURES = {"fixture:tiny_train": "train.jsonl", "fixture:tiny_all": "all.jsonl"}
TRAINING = frozenset({"PYTHONHASHSEED", "repeat", "workers", "shuffle", "OMP_NUM_THREADS", "LC_ALL"})
"""What may vary where a run is trained."""
CHUNK_SIZE = 2
"""Small, so that every worker gets some of a few articles."""


@dataclass(frozen=True)
class Outputs:
    """What each setting gave."""

    contents: list[Any]
    order: list[str]
    """The newsIds of the first."""
    lexicon_reached: bool
    """Whether each name of the lexicon was offered, from the dictionary, in every article that holds it."""


def repro(given: Given, tools: Tools) -> Outputs:
    """Train and predict where the articles are labelled; only predict where they are not."""
    articles = given["articles"]
    if isinstance(articles, str):
        if articles not in FIXTURES:
            raise CaseError(f"articles {articles!r} are not understood (have: {', '.join(FIXTURES)})")
        return _trained(given, tools, tools.tiny_data / FIXTURES[articles])
    if all(row.get("coreEntityEmotions") is not None for row in articles):
        path = tools.tmp_path / "train.jsonl"
        path.write_text("".join(f"{as_line(row)}\n" for row in articles), encoding="utf-8")
        return _trained(given, tools, path)
    return _predicted(given, tools)


def _settings(vary: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """Give every combination of what varies; ``"repeat": 2`` (once more, all else equal) joins the first alone."""
    repeats = vary.get("repeat", 1)
    axes = {name: values for name, values in vary.items() if name != "repeat"}
    combinations = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
    return [
        {**combination, "repeat": repeat}
        for number, combination in enumerate(combinations)
        for repeat in range(repeats if number == 0 else 1)
    ]


def _trained(given: Given, tools: Tools, train_file: Path) -> Outputs:
    """Train, predict and evaluate through the command line under every setting."""
    vary = given["vary"]
    unknown = set(vary) - TRAINING
    if unknown:
        raise CaseError(f"vary {', '.join(sorted(unknown))} is not understood (have: {', '.join(sorted(TRAINING))})")
    settings = [
        {
            "train_file": train_file,
            "seed": given.get("seed", 7),
            "workers": int(setting.get("workers", 1)),
            "hash_seed": str(setting.get("PYTHONHASHSEED", "0")),
            "repeat": setting["repeat"],
            "shuffle": int(setting.get("shuffle", 0)),
            "env": {name: str(setting[name]) for name in ("OMP_NUM_THREADS", "LC_ALL") if name in setting},
        }
        for setting in _settings(vary)
    ]
    contents = []
    for number, (setting, run) in enumerate(zip(settings, tools.tiny_runs.train_all(settings), strict=True)):
        env = {"PYTHONHASHSEED": setting["hash_seed"], **setting["env"]}
        output = tools.tmp_path / f"{number}.txt"
        test_file = tools.tiny_data / "test.jsonl"
        written = tools.tiny_runs.predict(run, test_file, output, workers=setting["workers"], env=env)
        figures = tools.tmp_path / f"{number}.json"
        done = tools.cli.run("evaluate", "--gold", test_file, "--submission", output, "--json", figures, cwd=run.cwd)
        assert done.code == 0, done.err
        contents.append((written, done.out, figures.read_bytes(), run.contents))
    lines = contents[0][0].decode("utf-8").split("\n")
    n_articles = len((tools.tiny_data / "test.jsonl").read_bytes().splitlines())
    return Outputs(contents, [line.split("\t")[0] for line in lines[:n_articles]], lexicon_reached=True)


def _predicted(given: Given, tools: Tools) -> Outputs:
    """Predict with a run whose dictionary is the lexicon of the case, in as many processes as each setting says."""
    vary = given["vary"]
    unknown = set(vary) - {"workers", "repeat"}
    if unknown:
        raise CaseError(f"vary {', '.join(sorted(unknown))} is not understood for articles without labels")
    folder = tools.trained().copy_to(tools.tmp_path)
    lexicon = sorted({match_key(name) for name in given.get("lexicon", [])})
    extractor = Extractor.load(folder / "candidates")
    extractor.dictionary = lexicon
    extractor.save(folder / "candidates")
    articles = [parse_article(row) for row in given["articles"]]
    given.get("seed")
    contents = [
        list(map_chunks(answer, articles, load=partial(Predictor.load, folder), workers=workers, chunk_size=CHUNK_SIZE))
        for workers in (setting.get("workers", 1) for setting in _settings(vary))
    ]
    found = [set(names) for _, names in contents[0]]
    wanted = [
        {name for name in lexicon if name in match_key(article.title) or name in match_key(article.content)}
        for article in articles
    ]
    return Outputs(
        contents,
        [prediction.news_id for prediction, _ in contents[0]],
        lexicon_reached=all(names >= some for names, some in zip(found, wanted, strict=True)),
    )


def answer(predictor: Predictor, chunk: list[Article]) -> list[tuple[Any, list[str]]]:
    """Predict, and list the candidates that came from the dictionary; runs in worker processes."""
    traces = predictor.trace(chunk)
    names = [
        [key for key, bits in zip(trace.offered.keys, trace.offered.sources, strict=True) if bits & Source.DICTIONARY]
        for trace in traces
    ]
    return [(trace.prediction, of_article) for trace, of_article in zip(traces, names, strict=True)]


def _identical(outputs: Outputs) -> bool:
    assert len(outputs.contents) > 1, "nothing varies"
    assert outputs.lexicon_reached
    return all(content == outputs.contents[0] for content in outputs.contents)


REPRO = Adapter(
    repro,
    {
        **dict.fromkeys(("identical_output", "identical"), equals(_identical)),
        **dict.fromkeys(("order", "newsIds"), equals(lambda outputs: outputs.order)),
        **dict.fromkeys(("lines", "n_lines"), equals(lambda outputs: len(outputs.order))),
    },
)
