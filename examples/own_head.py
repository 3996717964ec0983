"""A sentiment head of your own in one file, trained on a few invented rows.

    python examples/own_head.py

(In a checkout where the package is not installed by ``pip install .``, put ``PYTHONPATH=.`` before it.)

A head maps a batch of texts with targets to one row of logits per text. Registered under a name, it is trained by
HeadClassifier, as here, or named in ``sentiment.members`` by a program that registers it first. To keep it in the
project, give it a file in pipeline/emotions/heads/ and a line in pipeline/registry.py; the contract tests then run on
it.
"""

from __future__ import annotations

import torch
from torch import nn

import pipeline
from pipeline.config import HeadConfig
from pipeline.emotions.heads.base import Embedder, Head, HeadOutput
from pipeline.nn.batching import Batch
from pipeline.nn.layers import masked_mean, target_mean
from pipeline.registry import HEADS

TARGETS = ("云杉汽车", "青禾科技", "银杏书店")
PHRASES = {"POS": ("口碑很好", "令人满意", "值得称赞"), "NEG": ("令人失望", "遭到批评", "毛病很多")}
OPTIONS = ("head.embedding_dim=16", "head.dropout=0.1", "training.max_epochs=30", "training.learning_rate=0.02")


class MeanAndTarget(Head):
    """The mean of the text's vectors beside that of the target's, and a linear layer.

    Inputs: ``mask`` (batch, seq_len), ``target`` (batch, target_len). Output: logits (batch, n_classes).
    """

    inputs = ("mask", "target")
    uses_target = True

    def __init__(self, embedder: Embedder, config: HeadConfig, *, n_classes: int = 3) -> None:
        super().__init__(embedder, config, n_classes=n_classes)
        self.dropout = nn.Dropout(config.dropout)
        self.classify = nn.Linear(2 * embedder.dim, n_classes)

    def explain(self, batch: Batch) -> HeadOutput:
        """Return the logits; there is no attention."""
        embedded = self.embedder(batch)  # (batch, seq_len, dim)
        both = torch.cat([masked_mean(embedded, batch.mask), target_mean(embedded, batch)], dim=1)
        return HeadOutput(self.classify(self.dropout(both)))


def main() -> None:
    """Train on rows of every target with every phrase, and ask about texts that were not among them."""
    HEADS["mean_and_target"] = f"{__name__}:MeanAndTarget"  # "module:class", imported when asked for
    rows = [
        (pipeline.make_target(f"{name}{phrase}。", name), emotion)
        for name in TARGETS
        for emotion, phrases in PHRASES.items()
        for phrase in phrases
    ]
    examples, labels = zip(*rows, strict=True)

    config = pipeline.load_config(preset="tiny", overrides=OPTIONS)
    head = pipeline.HeadClassifier("mean_and_target", config, classes=list(PHRASES), seed=1)
    head.fit(examples, labels)
    print(f"{head.name}: {head.n_parameters} weights, {len(rows)} rows")

    asked = [pipeline.make_target(f"海棠酒店{phrase}。", "海棠酒店") for phrase in ("值得称赞", "令人失望")]
    for example, probs in zip(asked, head.predict_proba(asked), strict=True):
        print(f"{example.text} {head.classes[int(probs.argmax())]} {probs.max():.2f}")


if __name__ == "__main__":
    main()
