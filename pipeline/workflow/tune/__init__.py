"""Search for better options of the reranker and the emotion model, scored out-of-fold on the articles of one run."""

from pipeline.workflow.tune.data import METRICS, Metric
from pipeline.workflow.tune.results import TuneResult, format_result
from pipeline.workflow.tune.search import TuneRequest, tune

__all__ = ["METRICS", "Metric", "TuneRequest", "TuneResult", "format_result", "tune"]
