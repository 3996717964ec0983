"""Core entities of a Chinese news article and the emotion toward each.

The names in ``__all__`` are the public interface; docs/API.md shows each at work. Everything else in this package is
private and may change from one version to the next.

    run = pipeline.load_run("first")
    run.predict({"title": "…", "content": "…"})

``import pipeline`` imports no library: torch, LightGBM and the like are imported by the first call that needs them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pipeline.errors import ArtifactError, ConfigError, DataError, PipelineError
from pipeline.schema import Article, ChosenEntity, Emotion, Entity, Mention, Prediction, RunnerUp, Target
from pipeline.version import VERSION as __version__

if TYPE_CHECKING:
    from pipeline.api import (
        Run,
        Tagger,
        evaluate,
        load_head,
        load_run,
        load_tagger,
        make_target,
        read_articles,
        train_head,
        train_tagger,
    )
    from pipeline.config import Config, load_config
    from pipeline.emotions.classifier.estimator import HeadClassifier
    from pipeline.metric import Evaluation
    from pipeline.text.spans import Span

__all__ = [
    "Article",
    "ArtifactError",
    "ChosenEntity",
    "Config",
    "ConfigError",
    "DataError",
    "Emotion",
    "Entity",
    "Evaluation",
    "HeadClassifier",
    "Mention",
    "PipelineError",
    "Prediction",
    "Run",
    "RunnerUp",
    "Span",
    "Tagger",
    "Target",
    "__version__",
    "evaluate",
    "load_config",
    "load_head",
    "load_run",
    "load_tagger",
    "make_target",
    "read_articles",
    "train_head",
    "train_tagger",
]

_HOMES = {
    "Config": "pipeline.config",
    "Evaluation": "pipeline.metric",
    "HeadClassifier": "pipeline.emotions.classifier.estimator",
    "Run": "pipeline.api",
    "Span": "pipeline.text.spans",
    "Tagger": "pipeline.api",
    "evaluate": "pipeline.api",
    "load_config": "pipeline.config",
    "load_head": "pipeline.api",
    "load_run": "pipeline.api",
    "load_tagger": "pipeline.api",
    "make_target": "pipeline.api",
    "read_articles": "pipeline.api",
    "train_head": "pipeline.api",
    "train_tagger": "pipeline.api",
}
"""Where the names are defined that are imported on first use."""

if not TYPE_CHECKING:  # a type checker would take this for any name at all

    def __getattr__(name: str) -> Any:
        """Import a public name on first use."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_HOMES[name]), name)
        return value


def __dir__() -> list[str]:
    """List the public names, whether or not they were used yet."""
    return sorted({*globals(), *__all__})
