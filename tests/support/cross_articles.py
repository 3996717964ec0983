"""Invented articles whose title names the core entity, for tests of the cross-ranker."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np

from pipeline.config import CrossConfig, EncoderConfig, TrainingConfig
from pipeline.entities.cross_ranker.inputs import CandidateList
from pipeline.entities.cross_ranker.stage import TrainingList
from pipeline.schema import Article, Emotion, Entity
from pipeline.text import Document

NAMES = ("青禾科技", "云杉汽车", "银杏出版社")
FILLERS = ("今天发布新款。", "口碑很好,上市。", "路由器很好!")


def cross_config(encoder: Path, name: Literal["encoder", "pooled"] = "encoder", **options: Any) -> CrossConfig:
    """Return options with which the tiny encoder learns in seconds."""
    training = TrainingConfig(max_epochs=12, batch_size=4, learning_rate=1e-2)
    tuning = EncoderConfig(name=str(encoder), learning_rate=5e-3, training=training)
    settings = {"max_tokens": 48, "pooled_tokens": 64, "n_negatives": 2, "top_k": 3, "dropout": 0.0}
    return CrossConfig(name=name, encoder=tuning, **{**settings, **options})


def documents(n: int = 12) -> list[Document]:
    """Return articles; the name in the title is the core entity, the other two stand in the content."""
    docs = []
    for index in range(n):
        name, other, third = (NAMES[(index + step) % 3] for step in range(3))
        filler = FILLERS[index // 3 % 3]
        content = f"{other}{filler}{third}发布{name}。{FILLERS[index % 3]}"
        docs.append(Document.of(Article(f"a{index:02}", f"《{name}》上市", content, (Entity(name, Emotion.POS),))))
    return docs


def training_lists(docs: list[Document]) -> list[TrainingList]:
    """Return the candidates of the articles in one fixed order; the first two are scored, as best."""
    lists = []
    for index, doc in enumerate(docs):
        keys = [NAMES[(index // 2 + step) % 3] for step in range(3)]
        labels = np.array([key == NAMES[index % 3] for key in keys], dtype=np.float32)
        lists.append(TrainingList(CandidateList.of(doc, keys), labels, n_best=2))
    return lists
