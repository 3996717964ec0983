"""Writing the upload file, the CSV beside it and the details, all three or none."""

from __future__ import annotations

import csv
import logging
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import TextIO

from pipeline.artifacts import output_file, publish, safe_cell, temporary_path, text_file, write_errors
from pipeline.errors import ConfigError, DataError, PipelineError
from pipeline.schema import Prediction, news_id_fault
from pipeline.submission.check import check_submission
from pipeline.submission.clean import CleanNames, clean_names
from pipeline.submission.details import details_line

logger = logging.getLogger(__name__)

CSV_COLUMNS = ("newsId", "rank", "entity", "emotion", "score", "p_pos", "p_norm", "p_neg")


class SubmissionWriter:
    """Context manager that takes predictions in test order and leaves finished files behind.

    The files carry temporary names until the block ends well; then the upload file is read back
    and checked, and all are renamed. After an exception (Ctrl-C too) earlier files are untouched.

    Args:
        path: the upload file; the CSV lies beside it with the same stem. Missing folders are made.
        details: JSON lines with probabilities, mentions and runners-up; None for no such file.
        csv_bom: begin the CSV with a byte order mark, by which Excel knows UTF-8.

    A file whose name ends in .gz is packed. Cells of the CSV that a spreadsheet would compute get an apostrophe.

    Raises:
        ConfigError: a path cannot be written, or two of the three are the same.
    """

    def __init__(self, path: Path, *, details: Path | None = None, csv_bom: bool = False) -> None:
        table = path.parent / f"{path.stem}.csv"
        self._targets = [output_file(target) for target in (path, table, details) if target is not None]
        if len(set(self._targets)) < len(self._targets):
            raise ConfigError(f"{path}: upload file, CSV and details need different names (the CSV ends in .csv)")
        self._temporaries = [temporary_path(target) for target in self._targets]
        self._csv_bom = csv_bom
        self._open = ExitStack()
        self._files: list[TextIO] = []
        self._ids: list[str] = []
        self._changes = _ChangeLog()

    def __enter__(self) -> SubmissionWriter:
        try:
            for target, temporary in zip(self._targets, self._temporaries, strict=True):
                with write_errors(target):
                    # Only details keep lone surrogates (as JSON escapes); the other two hold none.
                    file = text_file(temporary, packed=target.suffix == ".gz")
                    self._files.append(self._open.enter_context(file))
            if self._csv_bom:
                self._files[1].write("\ufeff")
            self._table = csv.writer(self._files[1], lineterminator="\n")
            self._table.writerow(CSV_COLUMNS)
        except BaseException:
            self._discard()
            raise
        return self

    def write(self, prediction: Prediction) -> None:
        """Append one article.

        Raises:
            ConfigError: the disk refuses.
            DataError: the newsId cannot stand in a column of the upload file.
        """
        names = clean_names(entity.name for entity in prediction.entities)
        self._changes.add(prediction.news_id, names)
        chosen = [(name, prediction.entities[index]) for index, name in names.kept]
        with write_errors(self._targets[0]):
            self._files[0].write(_line(prediction.news_id, [(name, entity.emotion) for name, entity in chosen]))
            for rank, (name, entity) in enumerate(chosen, start=1):
                figures = [f"{figure:.6f}" for figure in (entity.score, *entity.probs)]
                self._table.writerow([safe_cell(prediction.news_id), rank, safe_cell(name), entity.emotion, *figures])
            for details in self._files[2:]:
                details.write(details_line(prediction, chosen))
        self._ids.append(prediction.news_id)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            self._discard()

    def _finish(self) -> None:
        with write_errors(self._targets[0]):
            self._open.close()
        problems = check_submission(self._temporaries[0], self._ids)
        if problems:
            raise PipelineError(f"{self._targets[0]}: not written, the new file is malformed: {problems[0]}")
        # The upload file comes last: where it is new, the files beside it are new as well.
        for target, temporary in reversed(list(zip(self._targets, self._temporaries, strict=True))):
            with write_errors(target):
                publish(temporary, target)
        self._changes.warn()

    def _discard(self) -> None:
        with suppress(OSError):  # what a full disk refused is thrown away anyway
            self._open.close()
        for temporary in self._temporaries:
            temporary.unlink(missing_ok=True)


class _ChangeLog:
    """What cleaning changed, so that it is told once and not for every article."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._first_id = ""

    def add(self, news_id: str, names: CleanNames) -> None:
        if names.changes and not self._counts:
            self._first_id = news_id
        self._counts += names.changes

    def warn(self) -> None:
        if self._counts:
            counts = ", ".join(f"{count} {change}" for change, count in sorted(self._counts.items()))
            logger.warning("entities cleaned for the upload file: %s (first in article %s)", counts, self._first_id)


def _line(news_id: str, answers: Sequence[tuple[str, str]]) -> str:
    if fault := news_id_fault(news_id):
        raise DataError(f"newsId {news_id!r} {fault}: no upload file can carry it")
    names, emotions = ",".join(name for name, _ in answers), ",".join(emotion for _, emotion in answers)
    return f"{news_id}\t{names}\t{emotions}\n"
