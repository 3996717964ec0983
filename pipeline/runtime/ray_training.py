"""The trainings of a task on Ray: what ``trainings.train_here`` does in processes, here or on a cluster.

A node needs no folder of the run. What a training reads of it travels with the items, once for all trainings of a task;
what a training leaves comes back as its result, and is written into the run by the driver alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pipeline.artifacts import CarriedFiles
from pipeline.runtime.epoch_log import append_lines
from pipeline.runtime.fold_task import FoldTask, Item
from pipeline.runtime.ray_engine import MAX_RESTARTS, enter_if_there, plain_error
from pipeline.runtime.trainings import DONE, FoldedItems, Training, place_of


class RayTrainingMap:
    """Each training a task of Ray, with a processor, and a GPU if the cluster has any and a network is trained.

    A training whose worker or node is lost is begun anew, ``MAX_RESTARTS`` times.

    Args:
        ray: the package, started.
    """

    def __init__(self, ray: Any) -> None:
        self._ray = ray

    def __call__(
        self,
        task: FoldTask[Item, Any, Any],
        cut: FoldedItems[Item],
        trainings: Sequence[Training],
        *,
        folder: Path,
        workers: int,
    ) -> Iterator[Training]:
        """Do each training on Ray, and yield it once its files are in their place; see ``TrainingMap``.

        Raises:
            PipelineError: what a training raised, or one was lost too often.
        """
        if not trainings:
            return
        ray = self._ray
        n_gpus = 1 if task.is_network and ray.cluster_resources().get("GPU", 0) >= 1 else 0
        train = ray.remote(num_cpus=1, num_gpus=n_gpus, max_retries=MAX_RESTARTS)(_train)
        moving = dict.fromkeys([*task.reads, *task.leaves])
        carried = {path: CarriedFiles.of(path, without=task.scratch) for path in moving}
        waiting, pending = list(trainings), dict[Any, Training]()
        try:
            common = ray.put(_Common(task, cut, carried, Path.cwd()))
            while waiting or pending:
                while waiting and len(pending) < workers:
                    training = waiting.pop(0)
                    named = train.options(name=f"{task.label}, {training.name}")
                    pending[named.remote(common, training)] = training
                (done, *_), _ = ray.wait(list(pending))
                trained: _Trained = ray.get(done)
                training = pending.pop(done)
                trained.write(place_of(folder, training.fold), log=task.log)
                yield training
        except ray.exceptions.RayError as error:
            raise plain_error(ray, error) from error
        finally:
            for lost in pending:  # nobody waits for them
                ray.cancel(lost, force=True)


@dataclass(frozen=True)
class _Common:
    """What all trainings of a task share; it is in Ray's store once."""

    task: FoldTask[Any, Any, Any]
    cut: FoldedItems[Any]
    carried: Mapping[Path, CarriedFiles]
    """What the task reads of the run, as far as it is there."""
    folder: Path
    """In which the program was started."""


@dataclass(frozen=True)
class _Trained:
    """What a training has left."""

    model: CarriedFiles
    """The folder of the model."""
    beside: Mapping[Path, CarriedFiles]
    """By the folders that the task ``leaves`` files in: those that were not carried there."""
    log: str

    def write(self, place: Path, *, log: Path | None) -> None:
        """Write all of it into the run, the marker last: stopped anywhere, the training is done or is not."""
        for folder, files in self.beside.items():
            files.unpack(folder)
        if log is not None and self.log:
            append_lines(log, self.log)
        self.model.unpack(place, last=DONE)


def _train(common: _Common, training: Training) -> _Trained:
    """Do a training in a folder of this machine, which is gone afterwards."""
    enter_if_there(common.folder)
    task = common.task
    with TemporaryDirectory(prefix="training-") as name:
        root = Path(name)
        places = _new_places(task, root)
        for path, files in common.carried.items():
            files.unpack(places[path])
        place, log = root / "model", root / "log.jsonl"
        here = replace(task.moved(places), log=None if task.log is None else log)
        training.run(here, common.cut, place)
        beside = {}
        for path in task.leaves:
            known = [places[path] / name for name in common.carried[path].files]
            beside[path] = CarriedFiles.of(places[path], without=[*here.scratch, *known])
        lines = log.read_text(encoding="utf-8") if log.is_file() else ""
        return _Trained(CarriedFiles.of(place), beside, lines)


def _new_places(task: FoldTask[Any, Any, Any], root: Path) -> dict[Path, Path]:
    """Return where on this machine the task's files and folders of the run are to be."""
    moving = dict.fromkeys([*task.reads, *task.leaves])
    apart = [path for path in task.scratch if not any(path.is_relative_to(other) for other in moving)]
    return {path: root / "run" / str(number) / path.name for number, path in enumerate([*moving, *apart])}
