"""Heads side by side on labelled rows: each trained with several seeds, all on the same rows."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from tqdm import tqdm

from pipeline.artifacts import DataFile, StageTimer
from pipeline.config import Config
from pipeline.data.formats.sentiment import RowKind, SentimentRow
from pipeline.data.reading import Reading
from pipeline.data.seen import SeenTexts, tell_seen
from pipeline.emotions.classifier.estimator import HeadClassifier
from pipeline.registry import HEADS
from pipeline.runtime.parallel import map_chunks
from pipeline.standalone.heads.best import BestModels, job_folder
from pipeline.standalone.heads.results import MAJORITY, Attention, HeadResult, HeadSummary, ResultFile, summarise
from pipeline.standalone.heads.rows import read_rows
from pipeline.standalone.heads.saved import SavedHead, save_head
from pipeline.standalone.heads.split import cut_by_group
from pipeline.standalone.heads.states import kept_states
from pipeline.standalone.heads.training import (
    answers,
    classes_of,
    fit_head,
    head_class,
    most_frequent,
    require_fitting,
    require_one_form,
    score,
)
from pipeline.standalone.script import refuse_conversion

logger = logging.getLogger(__name__)

UNUSED = ("seed", "n_folds", "workers", "text", "candidates", "tagger", "rerank")
"""Options that change nothing here."""
CUT = "by group, labels alike"
"""How rows are held out; results of another way belong into another table."""


@dataclass(frozen=True)
class HeadComparison:
    """What is compared on what.

    Args:
        train: labelled rows.
        dev: rows that choose the epoch. None: they are cut from train by group, others for each seed, alike for all
            heads.
        test: rows that are scored, and looked at for nothing else.
        classes: of all rows.
        data: the files, with checksums.
        config: options of heads, training and sentiment; its seed is the first of the seeds.
        heads: names.
        n_seeds: trainings of each head.
        held_out: share of the only file that became ``test``; None where test is a file of its own.
        n_shown: test rows of which the attention is kept, from the first seed of each head that has attention.
        kind: form of the rows.
        unfinished: folder in which each training leaves its model; None keeps no model.
        states: folder in which the states of a frozen encoder are kept meanwhile.
        reading: how the files were read.
    """

    train: Sequence[SentimentRow]
    dev: Sequence[SentimentRow] | None
    test: Sequence[SentimentRow]
    classes: Sequence[str]
    data: Sequence[DataFile]
    config: Config
    heads: Sequence[str]
    n_seeds: int
    held_out: float | None = None
    n_shown: int = 0
    kind: RowKind = RowKind.TARGET
    unfinished: Path | None = None
    states: Path | None = None
    reading: Reading = field(default_factory=Reading)

    @property
    def seeds(self) -> range:
        """The seeds of every head."""
        return range(self.config.seed, self.config.seed + self.n_seeds)

    @cached_property
    def key(self) -> str:
        """Names data and options: results of equal keys belong into one table."""
        text = json.dumps(self.description, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @property
    def description(self) -> dict[str, Any]:
        """What the key is made of: checksums of the files and every option that matters."""
        options = {name: value for name, value in self.config.to_dict().items() if name not in UNUSED}
        options["head"].pop("states_cache")  # holds what is computed otherwise
        split_seed = None if self.held_out is None else self.config.seed
        return {
            "data": [{"name": file.name, "sha256": file.sha256, "rows": file.rows} for file in self.data],
            "held_out": self.held_out,
            "cut": CUT,
            "split_seed": split_seed,
            "n_shown": self.n_shown,
            "options": options,
            **({} if self.reading == Reading() else {"reading": self.reading.to_dict()}),
        }


def load_comparison(
    train: Path,
    test: Path | None,
    *,
    config: Config,
    dev: Path | None = None,
    heads: Sequence[str] | None = None,
    n_seeds: int = 3,
    held_out: float = 0.2,
    n_shown: int = 0,
    reading: Reading | None = None,
) -> HeadComparison:
    """Read the rows and check that the heads can read them.

    Args:
        train: labelled rows of any form.
        test: rows of the same form; None holds part of train out, by group.
        config: options.
        dev: rows of the same form that choose the epoch; None cuts them from train.
        heads: names; None takes ``fitting_heads``.
        n_seeds: trainings of each head.
        held_out: share of the groups that is held out where there is no test file.
        n_shown: test rows of which the attention is kept.
        reading: how the files are read, where that is not to be recognised.

    Raises:
        ConfigError: an unknown head, one that needs a target which the rows lack, or options that do not go together.
        DataError: rows are malformed, of two forms, or of too few classes or texts; or a file of vectors is.
        ArtifactError: an encoder cannot be loaded.
    """
    refuse_conversion(config)
    names = None if heads is None else list(dict.fromkeys(heads))
    for name in names or ():
        head_class(name)  # better now than after the files were read
    paths = [path for path in (train, dev, test) if path]
    files = [read_rows(path, max_context_chars=config.sentiment.max_context_chars, reading=reading) for path in paths]
    kind = files[0].kind
    require_one_form(files)
    require_fitting(names or (), kind, train)
    names = names or fitting_heads(config, has_targets=kind.has_targets)
    classifiers = [HeadClassifier(name, config, classes=files[0].classes) for name in names]  # checks the options
    dev_rows = files[1].rows if dev else None
    rest, tested = (
        (files[0].rows, files[-1].rows) if test else cut_by_group(files[0].rows, fraction=held_out, seed=config.seed)
    )
    classes = classes_of(files, rest)
    for classifier in {one.reads_encoder: one for one in classifiers}.values():  # the slow part comes last
        classifier.check()
    _tell_shared(rest, dev, dev_rows or (), test or train, tested)
    return HeadComparison(
        train=rest,
        dev=dev_rows,
        test=tested,
        classes=classes,
        data=[DataFile.of(file.path, rows=len(file.rows)) for file in files],
        config=config,
        heads=names,
        n_seeds=n_seeds,
        held_out=None if test else held_out,
        n_shown=n_shown,
        kind=kind,
        reading=reading or Reading(),
    )


def compare(
    comparison: HeadComparison, kept: ResultFile, *, workers: int = 1, save: Path | None = None
) -> list[HeadSummary]:
    """Train and score each head with each seed, and return the table; the majority row comes first.

    What ``kept`` has of this comparison is not done again, and what is done is kept at once.

    Args:
        comparison: what is compared.
        kept: results so far.
        workers: trainings at a time, each in a process of its own if more than one. Figures do not depend on it.
        save: folder that gets the best model of each head, by its development rows; a best training that was done
            before without it is done again.

    Raises:
        ConfigError: ``save`` holds something else, or cannot be written.
    """
    jobs = [(head, seed) for seed in comparison.seeds for head in comparison.heads]
    done = {job: result for job, result in kept.results(comparison.key).items() if job in jobs}
    kept.describe(comparison.key, {**comparison.description, "classes": list(comparison.classes)})
    if done:
        logger.info("%d of %d trainings are done already", len(done), len(jobs))
    best = BestModels(save, comparison.key) if save else None
    if best:
        best.check(comparison.heads)

    def lacking() -> list[tuple[str, int]]:
        return best.lacking(comparison.heads, done) if best else []

    with (
        tqdm(total=len(jobs), initial=len(done), desc="compare", unit="head", disable=None) as bar,
        best.unfinished() if best else nullcontext() as unfinished,
        kept_states(comparison.heads, comparison.config) as states,
    ):
        comparison = replace(comparison, unfinished=unfinished, states=states)
        todo = [job for job in jobs if job not in done] or lacking()
        while todo:
            for result in _run(comparison, todo, workers):
                done[result.head, result.seed] = result
                if best and unfinished:
                    best.offer(unfinished, result, done)
                kept.add(comparison.key, result)
                _tell(result, bar)
            todo = lacking()
    kept.write()
    if best:
        best.warn_of_useless(comparison.heads)
    asked = [done[head, seed] for head in comparison.heads for seed in comparison.seeds]
    return [HeadSummary.of([majority(comparison)]), *summarise(asked)]


def majority(comparison: HeadComparison) -> HeadResult:
    """Score the answer that is most frequent in training."""
    answer = most_frequent(comparison.train, comparison.classes)
    scores = score([answer] * len(comparison.test), comparison.test, comparison.classes)
    return HeadResult(MAJORITY, comparison.config.seed, scores.accuracy, scores.macro_f1, scores.f1)


def fitting_heads(config: Config, *, has_targets: bool) -> list[str]:
    """Return the heads that are compared where none is named: target heads, or document baselines without targets.

    Heads that need an encoder are among them only where the others read one as well: they take much longer.
    """
    heads = {name: head_class(name) for name in HEADS}
    with_encoder = config.head.embedding == "encoder"
    return [
        name
        for name, kind in heads.items()
        if kind.uses_target == has_targets and (with_encoder or not kind.needs_encoder)
    ]


def train_and_score(comparison: HeadComparison, head: str, seed: int) -> HeadResult:
    """Train one head with one seed, its epoch chosen by development rows, and score it on the test rows."""
    with StageTimer() as timer:
        fitted = fit_head(
            head,
            comparison.config,
            comparison.train,
            comparison.dev,
            classes=comparison.classes,
            seed=seed,
            states=comparison.states,
        )
        model = fitted.model
        given = answers(model, comparison.test)
    if comparison.unfinished:
        folder = job_folder(comparison.unfinished, head, seed)
        folder.mkdir()
        seen = SeenTexts.of(map(_text, comparison.train))
        saved = SavedHead(model, comparison.kind, fitted.most_frequent, fitted.dev, seen)
        save_head(saved, folder, data=[file.to_dict() for file in comparison.data], comparison=comparison.key)
    scores = score(given, comparison.test, comparison.classes)
    n_shown = comparison.n_shown if seed == comparison.seeds[0] else 0
    return HeadResult(
        head=head,
        seed=seed,
        accuracy=scores.accuracy,
        macro_f1=scores.macro_f1,
        f1=scores.f1,
        dev_accuracy=fitted.dev.accuracy,
        n_parameters=model.n_parameters,
        seconds=round(timer.seconds, 3),
        attention=_attention(model, comparison.test[:n_shown], given),
    )


def _tell(result: HeadResult, bar: tqdm[Any]) -> None:
    """Move the bar, or say how a training did where there is none."""
    bar.update()
    if bar.disable:
        logger.info(
            "%s, seed %d: accuracy %.4f, macro-F1 %.4f, %.0f s",
            *(result.head, result.seed, result.accuracy, result.macro_f1, result.seconds),
        )


def _run(comparison: HeadComparison, jobs: Sequence[tuple[str, int]], workers: int) -> Iterator[HeadResult]:
    """Yield the results as they come."""
    return map_chunks(
        _train_chunk,
        jobs,
        load=partial(_itself, comparison),
        workers=min(workers, len(jobs) or 1),
        chunk_size=1,
        in_order=False,
    )


def _itself(comparison: HeadComparison) -> HeadComparison:
    return comparison


def _train_chunk(comparison: HeadComparison, jobs: Sequence[tuple[str, int]]) -> list[HeadResult]:
    return [train_and_score(comparison, head, seed) for head, seed in jobs]


def _attention(model: HeadClassifier, rows: Sequence[SentimentRow], given: Sequence[str]) -> list[Attention]:
    weights = model.attention([row.example for row in rows]) if rows else None
    return [
        Attention(
            row.example.text,
            [round(float(weight), 6) for weight in found],
            (row.example.start, row.example.stop),
            row.label,
            answer,
        )
        for row, found, answer in zip(rows, weights or [], given, strict=False)
    ]


def _tell_shared(
    train: Sequence[SentimentRow],
    dev_file: Path | None,
    dev: Sequence[SentimentRow],
    test_file: Path,
    test: Sequence[SentimentRow],
) -> None:
    """Warn of rows that measure on what was trained on, or on what chose the epoch."""
    seen, chosen_by = SeenTexts.of(map(_text, train)), SeenTexts.of(map(_text, dev))
    tell_seen(map(_text, dev), seen, dev_file)
    tell_seen(map(_text, test), seen, test_file, rows="test rows")
    tell_seen(map(_text, test), chosen_by, test_file, rows="test rows", whose="a row of --dev")


def _text(row: SentimentRow) -> str:
    return row.example.document
