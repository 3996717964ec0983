"""Kind head_input: what a sentiment head gets of a text and its target, and that it answers with probabilities."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from pipeline.config import HeadConfig
from pipeline.emotions.heads.base import Head
from pipeline.emotions.sentiment.scores import softmax
from pipeline.nn.batching import Batch, BatchLoader
from pipeline.nn.layers import TokenEmbedding
from pipeline.nn.vocab import UNKNOWN, Vocabulary
from pipeline.registry import HEADS, resolve
from pipeline.schema import EMOTIONS, Target

from .framework import Adapter, CaseError, Check, Given, Tools, equals

PLANNED = frozenset({"lstm", "tdlstm", "tclstm", "atlstm", "ataelstm"})
"""Heads of a later issue: run as soon as they are in the registry."""
SIZES = {"embedding_dim": 6, "hidden_dim": 5, "dropout": 0.0}
OPERATORS = ("convolution", "correlation")


@dataclass(frozen=True)
class HeadRun:
    """The parts of the first example, and the logits of every head for all examples."""

    asked: str
    """The target as the case marks it."""
    left: str
    """What stands before the tokens that a batch marks as target."""
    target: str
    right: str
    seen: str
    """The characters of the context that reached the head; □ is one outside the vocabulary."""
    target_seen: str
    logits: dict[str, np.ndarray]
    """(n_examples, 3) by head, all examples in one batch."""
    alone: dict[str, np.ndarray]
    """The same, each example in a batch of its own."""

    @property
    def probs(self) -> np.ndarray:
        """Probabilities of all heads: (n_heads * n_examples, 3)."""
        return softmax(np.vstack(list(self.logits.values())).astype(np.float64))


def _target(row: Mapping[str, Any]) -> Target:
    text, name = row["text"], row.get("target", "")
    start = row.get("start", text.find(name))
    stop = row.get("end", row.get("stop", start + len(name)))
    return Target(text, start, stop, name)


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _heads(names: list[str], n_tokens: int, seed: int) -> Iterator[tuple[str, Head]]:
    """Build the heads that are registered; a name that nobody plans is a mistake of the case."""
    registered = {_bare(name): name for name in HEADS}
    unknown = [name for name in names if _bare(name) not in registered.keys() | PLANNED]
    if unknown:
        raise CaseError(f"heads {unknown} are not understood (have: {', '.join(HEADS)})")
    for key in dict.fromkeys(map(_bare, names)):
        if key not in registered or resolve(HEADS, registered[key], kind="head").needs_encoder:
            continue  # what an encoder reads is tested with one, in tests/heads/test_contract.py
        for operator in OPERATORS if key == "aflstm" else OPERATORS[:1]:
            torch.manual_seed(seed)
            config = HeadConfig(**SIZES, af_operator=operator)
            embedder = TokenEmbedding(n_tokens, config.embedding_dim)
            head = resolve(HEADS, registered[key], kind="head")(embedder, config, n_classes=len(EMOTIONS))
            yield f"{key} {operator}", head.eval()


def head_input(given: Given, tools: Tools) -> HeadRun:
    """Give one or more targets to untrained heads, together and one by one."""
    rows = given.first("examples", "rows", "batch") or [given]
    examples = [_target(row) for row in rows] + [_target(row) for row in given.get("batch_mates", [])]
    max_tokens = given.first("max_tokens", "max_length", "max_len", "max_chars", default=512)
    vocabulary = Vocabulary.build([example.text for example in examples], min_count=given.get("min_count", 1))
    names = given.first("heads", "head", default=list(HEADS))
    logits: dict[str, np.ndarray] = {}
    alone: dict[str, np.ndarray] = {}
    with torch.inference_mode():
        together = _batches(examples, vocabulary, max_tokens, len(examples))
        singly = _batches(examples, vocabulary, max_tokens, 1)
        for name, head in _heads([names] if isinstance(names, str) else names, len(vocabulary), given.get("seed", 7)):
            logits[name] = _answers(head, together, len(examples))
            alone[name] = _answers(head, singly, len(examples))
    if not logits:
        raise CaseError(f"none of the heads {names} is registered yet")
    first = examples[0]
    loader = BatchLoader(examples[:1], vocabulary, max_tokens=max_tokens)
    [batch] = loader.epoch()
    start, stop = _target_in_text(first, loader, batch)
    return HeadRun(
        asked=first.text[first.start : first.stop],
        left=first.text[:start],
        target=first.text[start:stop],
        right=first.text[stop:],
        seen=_decode(vocabulary, batch.tokens),
        target_seen=_seen_target(vocabulary, batch),
        logits=logits,
        alone=alone,
    )


def _target_in_text(example: Target, loader: BatchLoader, batch: Batch) -> tuple[int, int]:
    """Return the characters of the tokens that the batch marks as target; the other tokens must be left or right."""
    left, target, right = (part.index[0][part.mask[0]].tolist() for part in (batch.left, batch.target, batch.right))
    assert [*left, *target, *right] == list(range(int(batch.mask[0].sum())))
    spans = loader.spans(0)
    return (spans[target[0]][0], spans[target[-1]][1]) if target else (example.start, example.stop)


def _batches(examples: list[Target], vocabulary: Vocabulary, max_tokens: int, batch_size: int) -> list[Batch]:
    return list(BatchLoader(examples, vocabulary, batch_size=batch_size, max_tokens=max_tokens).epoch())


def _answers(head: Head, batches: list[Batch], n_examples: int) -> np.ndarray:
    rows = np.full((n_examples, len(EMOTIONS)), np.nan)
    for batch in batches:
        rows[batch.rows] = head(batch).numpy()
    return rows


def _decode(vocabulary: Vocabulary, ids: torch.Tensor) -> str:
    return "".join(vocabulary.tokens[i - UNKNOWN - 1] if i > UNKNOWN else "□" for i in ids[0].tolist() if i)


def _seen_target(vocabulary: Vocabulary, batch: Batch) -> str:
    positions = batch.target.index[0][batch.target.mask[0]]
    return _decode(vocabulary, batch.tokens[:, positions])


def _finite(run: HeadRun) -> bool:
    return all(np.isfinite(part).all() for outputs in (run.logits, run.alone) for part in outputs.values())


def _independent(run: HeadRun) -> bool:
    return all(np.allclose(run.logits[name], run.alone[name], atol=1e-5) for name in run.logits)


def _begins_or_ends(part: str, method: str) -> Check:
    def check(run: HeadRun, wanted: str) -> None:
        assert getattr(getattr(run, part), method)(wanted)

    return check


HEAD_INPUT = Adapter(
    head_input,
    {
        "left": equals(lambda run: run.left),
        "target": equals(lambda run: run.target),
        "right": equals(lambda run: run.right),
        **dict.fromkeys(("seen", "context_seen"), equals(lambda run: run.seen)),
        "seen_starts_with": _begins_or_ends("seen", "startswith"),
        "seen_ends_with": _begins_or_ends("seen", "endswith"),
        "target_seen": equals(lambda run: run.target_seen),
        **dict.fromkeys(
            ("target_kept", "target_survives"), equals(lambda run: run.target_seen == run.asked.replace(" ", ""))
        ),
        **dict.fromkeys(("finite_output", "finite"), equals(_finite)),
        "probabilities_sum_to_one": equals(lambda run: bool(np.allclose(run.probs.sum(1), 1.0, atol=1e-6))),
        **dict.fromkeys(("shape", "output_shape"), equals(lambda run: list(next(iter(run.logits.values())).shape))),
        **dict.fromkeys(
            ("independent_of_batch_mates", "row_independent", "batch_invariant", "padding_invariant", "same_as_alone"),
            equals(_independent),
        ),
    },
)
