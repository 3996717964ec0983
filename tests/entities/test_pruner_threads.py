"""The pruner's weights are the same with one OpenMP thread and with two."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tests.support.paths import ROOT

FIT = """
import json
from pathlib import Path
import numpy as np
from pipeline.config import CandidateConfig
from pipeline.data.read import iter_articles
from pipeline.entities.candidates import CandidateGenerator
from pipeline.entities.pruning import Pruner, pruning_matrix
from pipeline.text import Document, default_segmenter, match_key

segmenter = default_segmenter()
generator = CandidateGenerator(CandidateConfig(), segmenter=segmenter)
matrices, labels = [], []
for article in iter_articles(Path("data/sample/train.jsonl"), labelled=True):
    found = generator.generate(Document.of(article))
    gold = {match_key(entity.name) for entity in article.entities}
    matrices.append(pruning_matrix(found, segmenter))
    labels.append(np.array([key in gold for key in found.keys], np.float32))
print(json.dumps(Pruner.fit(matrices, labels).to_dict()))
"""


def weights(n_threads: int) -> str:
    threads = {name: str(n_threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", FIT], cwd=ROOT, env={**os.environ, **threads}, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_weights_do_not_depend_on_the_number_of_threads() -> None:
    one = weights(1)
    assert any(json.loads(one).values())
    assert weights(2) == one
