"""Prediction of partitioned input on Ray Data: each part is read, answered and written by one actor.

The bytes are those of one file that holds all parts: chunks are cut across the ends of parts, as a chunk's
size can change the last bits of a probability. So a part's actor also reads a few articles of its neighbours.
"""

from __future__ import annotations

import hashlib
import json
import logging
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

from tqdm import tqdm

from pipeline.artifacts import RunFolder, StoredFile, StoredFolder, find_files, sha256_file, stage_key
from pipeline.config import EncoderEngine
from pipeline.data.read import BadRowPolicy, ReadReport, iter_articles, iter_json_objects
from pipeline.errors import ArtifactError, ConfigError, DataError, PipelineError
from pipeline.runtime.parallel import chunked
from pipeline.runtime.ray_engine import enter_if_there, lend
from pipeline.schema import Article
from pipeline.submission import SubmissionWriter, chosen_of, details_line, read_details
from pipeline.version import VERSION
from pipeline.workflow.predict import Predictor
from pipeline.workflow.predict_stream import CHUNK_SIZE, predictor_load
from pipeline.workflow.traces import Trace
from pipeline.workflow.unanswered import FailureLog

logger = logging.getLogger(__name__)

JOB, DONE = "_job.json", "_SUCCESS"
"""Files beside the parts: what the answers rest on, and that they are complete. Readers of data sets skip them."""

_ERRORS = {kind.__name__: kind for kind in (PipelineError, ConfigError, DataError, ArtifactError)}


@dataclass(frozen=True)
class PartsRequest:
    """What to answer, and where to."""

    run: RunFolder
    inputs: Sequence[str]
    """Paths or URIs of files, folders, patterns."""
    output: str
    """Path or URI of a folder: gets a file of answers for each part, by the same name (without ``.gz``)."""
    workers: int
    limit: int | None = None
    policy: BadRowPolicy = BadRowPolicy.STOP
    resume: bool = False
    """Keep the parts that the same request wrote before it was stopped."""
    strict: bool = False
    """Stop at an article that cannot be answered, instead of answering it with nothing."""
    encoder_engine: EncoderEngine | None = None
    """See ``Predictor.load``."""


@dataclass(frozen=True)
class Part:
    """One file of the input; ``[start, stop)`` are its articles among those of all parts, in order."""

    source: StoredFile
    output: StoredFile
    start: int
    stop: int
    sha256: str
    """Of its articles."""


def predict_parts(request: PartsRequest, ray: Any) -> list[Part]:
    """Write the answers to every part, and return the parts in order.

    Parts are counted and checked before the first is answered. A worker that dies is started again, and the part it
    was at is answered anew.

    Args:
        request: what to answer.
        ray: the package, started.

    Raises:
        DataError: there is no input, or it is malformed; the first part with malformed rows is named.
        ConfigError: the output cannot be written, or holds other files.
        ArtifactError: a worker cannot load the run.
        PipelineError: a worker cannot be started, or an article cannot be answered and the request is strict.
    """
    folder = StoredFolder.at(request.output)
    files = {name: file for name, file in find_files(request.inputs).items() if not folder.holds(file)}
    if not files:
        raise ConfigError(f"{folder.name}: holds the input", hint="give another folder as --output")
    outputs = _outputs(files, folder)
    if not request.resume and (folder.file(JOB).exists() or folder.names()):
        raise ConfigError(f"{folder.name}: holds files already", hint="add --resume, or give another --output")
    parts = _counted(request, list(files.values()), outputs, ray)
    content = [(part.start, part.stop, part.sha256) for part in parts]
    how = [request.encoder_engine] if request.encoder_engine else []
    _claim(folder, stage_key(VERSION, sha256_file(request.run.manifest), list(files), content, *how))
    rest = [number for number, part in enumerate(parts) if not part.output.exists()]
    if len(rest) < len(parts):
        logger.info("%s: going on after %d of %d parts", folder.name, len(parts) - len(rest), len(parts))
    load = lend(ray, predictor_load(request.run, encoder_engine=request.encoder_engine))
    worker = (load, parts, request.policy, request.strict)
    with FailureLog() as log, tqdm(total=parts[-1].stop, desc="predict", unit="article", disable=None) as bar:
        bar.update(parts[-1].stop - sum(parts[number].stop - parts[number].start for number in rest))
        try:
            for number, failures in _map_on_ray(ray, rest, PartWorker, (Path.cwd(), *worker), request.workers):
                for news_id, failure in failures:
                    log.add(news_id, failure)
                bar.update(parts[number].stop - parts[number].start)
        except (KeyboardInterrupt, PipelineError):
            logger.warning("%s: finished parts are kept; go on with the same command and --resume", folder.name)
            raise
    folder.remove_temporaries()
    with folder.file(DONE).writer():
        pass
    return parts


def join_parts(parts: Sequence[Part], target: Path) -> None:
    """Write the upload file of all answers in order, and the CSV beside it.

    Raises:
        DataError: an answer is damaged; file and line are named.
        ConfigError: a file cannot be written.
    """
    with SubmissionWriter(target) as writer:
        for part in parts:
            for line, row in iter_json_objects(part.output):
                try:
                    writer.write(read_details(row))
                except DataError as error:
                    raise DataError(f"{part.output}:{line}: {error.message}") from error


class PartWorker:
    """An actor of Ray Data; it loads the run once, with its first part."""

    def __init__(
        self,
        folder: Path,
        load: Callable[[], Predictor],
        parts: Sequence[Part],
        policy: BadRowPolicy,
        strict: bool = False,
    ) -> None:
        self._folder, self._load, self._parts, self._policy, self._strict = folder, load, parts, policy, strict

    @cached_property
    def _predictor(self) -> Predictor:
        enter_if_there(self._folder)
        return self._load()

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        """Answer a part: read it, and write its answers."""
        return _reported(batch, self._answer)

    def _answer(self, number: int) -> list[tuple[str, str]]:
        """Return the newsId of each article that could not be answered, and why."""
        part = self._parts[number]
        failures = []
        with part.output.writer() as file:
            for trace in self._traces(part):
                file.write(details_line(trace.answer, chosen_of(trace.answer)))
                if trace.failure:
                    failures.append((trace.article.news_id, trace.failure))
        return failures

    def _traces(self, part: Part) -> Iterator[Trace]:
        if part.start == part.stop:
            return
        position = part.start - part.start % CHUNK_SIZE
        stop = part.stop + -part.stop % CHUNK_SIZE
        for chunk in chunked(_slice(self._parts, position, stop, self._policy), CHUNK_SIZE):
            for trace in self._predictor.trace(chunk, strict=self._strict):
                if part.start <= position < part.stop:
                    yield trace
                position += 1


def _slice(parts: Sequence[Part], start: int, stop: int, policy: BadRowPolicy) -> Iterator[Article]:
    """Yield the articles ``[start, stop)`` of all parts, as far as there are any."""
    for part in islice(parts, bisect_right(parts, start, key=lambda part: part.stop), None):
        if part.start >= stop:
            return
        articles = iter_articles(part.source, labelled=False, policy=policy, may_be_empty=True)
        first, last = max(start - part.start, 0), min(stop, part.stop) - part.start
        n_left = last - first
        for article in islice(articles, first, last):
            n_left -= 1
            yield article
        if n_left:
            raise DataError(f"{part.source}: changed while it was read")


def _outputs(files: dict[str, StoredFile], folder: StoredFolder) -> list[StoredFile]:
    names = [name.removesuffix(".gz") for name in files]
    for name, count in Counter(names).items():
        if count > 1:
            raise ConfigError(f"{name}: two parts of the input would have this name in the output")
    return [folder.file(name) for name in names]


def _counted(request: PartsRequest, files: Sequence[StoredFile], outputs: Sequence[StoredFile], ray: Any) -> list[Part]:
    """Read all parts once, on Ray: count their articles and find their malformed rows."""
    check = partial(_reported, work=partial(_count, files, request.policy))
    found = dict(_map_on_ray(ray, range(len(files)), check, (), request.workers))
    for number, file in enumerate(files):
        for warning in found[number]["warnings"]:
            logger.warning("%s: %s", file, warning)
    stops = list(accumulate(found[number]["n_articles"] for number in range(len(files))))
    if not stops[-1]:
        raise DataError(f"{', '.join(request.inputs)}: no article in {len(files)} files")
    limit = min(request.limit or stops[-1], stops[-1])
    stops = [min(stop, limit) for stop in stops]
    logger.info("input: %d articles in %d parts", limit, len(files))
    hashes = [found[number]["sha256"] for number in range(len(files))]
    return [Part(*part) for part in zip(files, outputs, [0, *stops[:-1]], stops, hashes, strict=True)]


def _count(files: Sequence[StoredFile], policy: BadRowPolicy, number: int) -> dict[str, Any]:
    report, digest = ReadReport(), hashlib.sha256()
    for article in iter_articles(files[number], labelled=False, policy=policy, report=report, may_be_empty=True):
        digest.update("\0".join((article.news_id, article.title, article.content)).encode())
    return {"n_articles": report.n_articles, "sha256": digest.hexdigest(), "warnings": report.warnings()}


def _claim(folder: StoredFolder, key: str) -> None:
    """Note in the output what the answers rest on.

    Raises:
        ConfigError: answers that rest on something else are there.
    """
    job = folder.file(JOB)
    if job.exists():
        with job.open() as file:
            if file.read() != json.dumps({"key": key}).encode():
                raise ConfigError(
                    f"{folder.name}: its answers rest on another run, input or options", hint="give another --output"
                )
        return
    if folder.names():
        raise ConfigError(f"{folder.name}: holds files already", hint="give another --output")
    with job.writer() as file:
        file.write(json.dumps({"key": key}))


def _map_on_ray(
    ray: Any, numbers: Sequence[int], work: Callable[..., Any], arguments: tuple[Any, ...], workers: int
) -> Iterator[tuple[int, Any]]:
    """Yield each number with what the work says of it, one a task, as they are done.

    Raises:
        PipelineError: what ``_reported`` caught, of the first number that had an error; the tasks all end before.
    """
    from ray import data

    logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # it tells its plans
    data.DataContext.get_current().enable_progress_bars = False
    if not numbers:
        return
    items = data.from_items([{"number": number} for number in numbers], override_num_blocks=len(numbers))
    options: dict[str, Any] = {"batch_size": 1, "num_cpus": 1}
    if isinstance(work, type):
        options |= {
            # A part that waits should go to whoever is free first.
            "compute": data.ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=1),
            "fn_constructor_args": arguments,
        }
    errors = {}
    try:
        for row in items.map_batches(work, **options).iter_rows():
            report = json.loads(row["report"])
            if "error" in report:
                errors[row["number"]] = report
            else:
                yield row["number"], report["value"]
    except ray.exceptions.RayActorError as error:
        raise PipelineError("a Ray worker cannot be started", hint="use fewer workers") from error
    if errors:
        first = errors[min(errors)]
        raise _ERRORS.get(first["kind"], PipelineError)(first["error"], hint=first["hint"])


def _reported(batch: dict[str, Any], work: Callable[[int], Any]) -> dict[str, list[Any]]:
    """Do the work on a batch of one number; errors of the user become values, which Ray does not wrap or retry."""
    (number,) = batch["number"].tolist()
    try:
        report = {"value": work(number)}
    except PipelineError as error:
        report = {"error": error.message, "kind": type(error).__name__, "hint": error.hint}
    return {"number": [number], "report": [json.dumps(report)]}
