"""Any number of articles answered, in chunks, by one process or several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from pipeline.artifacts import RunFolder
from pipeline.config import EncoderEngine
from pipeline.runtime.folder_load import FolderLoad
from pipeline.runtime.parallel import ChunkMap, map_chunks
from pipeline.schema import Article, Prediction
from pipeline.workflow.modes import has_networks
from pipeline.workflow.predict import Predictor
from pipeline.workflow.run_config import load_run_config
from pipeline.workflow.unanswered import FailureLog

CHUNK_SIZE = 32
"""Articles worked on together. Fixed: a batch's size could change the last bits of a probability."""

ALONE = 1000
"""So many articles are worth a second process, in a run without networks: each takes seconds to start and to load."""


def predict_stream(
    run: RunFolder,
    articles: Iterable[Article],
    *,
    workers: int,
    chunk_map: ChunkMap = map_chunks,
    strict: bool = False,
    encoder_engine: EncoderEngine | None = None,
) -> Iterator[Prediction]:
    """Yield the prediction of each article, in order; memory does not grow with the stream.

    Warns of each article that cannot be answered, and of their number in the end; see ``Predictor.trace``.
    """
    work = partial(_predict_chunk, strict=strict)
    alone = 0 if has_networks(load_run_config(run.config)) else ALONE
    load = predictor_load(run, encoder_engine=encoder_engine)
    with FailureLog() as failures:
        for prediction, failure in chunk_map(
            work, articles, load=load, workers=workers, chunk_size=CHUNK_SIZE, alone=alone
        ):
            failures.add(prediction.news_id, failure)
            yield prediction


def predictor_load(run: RunFolder, *, encoder_engine: EncoderEngine | None = None) -> FolderLoad[Predictor]:
    """Return what loads a checked run in a worker; one that was carried to another machine is checked again there."""
    read = partial(_load_predictor, home=run.path, encoder_engine=encoder_engine)
    return FolderLoad(read, run.path, without=run.not_needed)


def _load_predictor(path: Path, *, home: Path, encoder_engine: EncoderEngine | None) -> Predictor:
    if path != home:
        RunFolder.load(path)
    return Predictor.load(path, encoder_engine=encoder_engine)


def _predict_chunk(predictor: Predictor, chunk: list[Article], *, strict: bool) -> list[tuple[Prediction, str]]:
    return [(trace.answer, trace.failure) for trace in predictor.trace(chunk, strict=strict)]
