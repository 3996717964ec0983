"""The trainings of a task on Ray: what ``trainings.train_here`` does in processes, here or on a cluster.

A node needs no folder of the run. What a training reads of it travels with the items, once for all trainings of a task;
what a training leaves comes back as its result, and is written into the run by the driver alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pipeline.runtime.away import TaskAway, Trained
from pipeline.runtime.fold_task import FoldTask, Item
from pipeline.runtime.ray_engine import MAX_RESTARTS, enter_if_there, plain_error
from pipeline.runtime.trainings import FoldedItems, Training, place_of


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
        waiting, pending = list(trainings), dict[Any, Training]()
        try:
            away = ray.put(TaskAway.of(task, cut))
            while waiting or pending:
                while waiting and len(pending) < workers:
                    training = waiting.pop(0)
                    named = train.options(name=f"{task.label}, {training.name}")
                    pending[named.remote(away, training, Path.cwd())] = training
                (done, *_), _ = ray.wait(list(pending))
                trained: Trained = ray.get(done)
                training = pending.pop(done)
                trained.write(place_of(folder, training.fold), log=task.log)
                yield training
        except ray.exceptions.RayError as error:
            raise plain_error(ray, error) from error
        finally:
            for lost in pending:  # nobody waits for them
                ray.cancel(lost, force=True)


def _train(away: TaskAway, training: Training, folder: Path) -> Trained:
    enter_if_there(folder)
    return away.train(training)
