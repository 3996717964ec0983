"""Invented rows with a sentiment, and options with which a head is trained in a second."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable

QUICK = ("--preset", "tiny", "--set", "training.max_epochs=1", "--set", "training.batch_size=32")
"""Where it does not matter what is learnt."""
LEARNING = (
    *("--preset", "tiny", "--set", "training.max_epochs=8", "--set", "training.learning_rate=0.02"),
    *("--set", "training.batch_size=8", "--set", "head.dropout=0"),
)
NAMES, GOOD, BAD = ("云杉", "青禾", "砚台", "银杏"), ("很好", "出色"), ("很差", "糟糕")


def lines(rows: Iterable[object]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def documents(n_rows: int, seed: int = 0) -> list[dict[str, object]]:
    rng = random.Random(seed)
    return [
        {
            "id": number,
            "text": f"{rng.choice(NAMES)}{rng.choice(GOOD if number % 2 else BAD)}。{number}",
            "label": "好评" if number % 2 else "差评",
        }
        for number in range(n_rows)
    ]


def targets(n_rows: int, seed: int = 0) -> list[dict[str, object]]:
    """Return texts that praise one name and blame another."""
    rng = random.Random(seed)
    rows: list[dict[str, object]] = []
    for number in range(n_rows):
        good, bad = rng.sample(NAMES, 2)
        text = f"{good}{rng.choice(GOOD)}，{bad}{rng.choice(BAD)}。{number}"
        name, polarity = ((good, "POS"), (bad, "NEG"))[number % 2]
        rows.append({"id": f"t{number}", "text": text, "target": name, "polarity": polarity})
    return rows
