"""Invented rows, and a small tagger's options, for the tests of ``tag``."""

from __future__ import annotations

import json
import random
from pathlib import Path

SMALL = (
    *("--tagger", "lstm", "--set", "workers=1", "--set", "tagger.training.max_epochs=6"),
    *(
        "--set",
        "tagger.training.learning_rate=0.02",
        "--set",
        "tagger.embedding_dim=16",
        "--set",
        "tagger.hidden_dim=16",
    ),
)
COMPANIES, PLACES, VERBS = ("青禾科技", "云杉汽车", "Nova Motors"), ("砚台镇", "银杏湾"), ("访问", "进驻")


def lines(*rows: object) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def entity_row(rng: random.Random) -> dict[str, object]:
    company, verb, place = rng.choice(COMPANIES), rng.choice(VERBS), rng.choice(PLACES)
    text = f"今天{company}{verb}{place}。"
    start, last = 2, len(text) - 1
    return {
        "id": rng.randint(1, 99),
        "text": text,
        "entities": [
            {"entity": company, "type": "公司", "from": start, "to": start + len(company)},
            {"entity": place, "type": "地点", "from": last - len(place), "to": last},
        ],
    }


def token_row(rng: random.Random) -> dict[str, object]:
    tagged = [(rng.choice(PLACES), "NR"), (rng.choice(VERBS), "VV"), (str(rng.randint(2, 99)), "CD"), ("次", "M")]
    return {"tokens": [token for token, _ in tagged], "tags": [tag for _, tag in tagged]}


def figures(path: Path) -> dict[str, object]:
    values: dict[str, object] = json.loads(path.read_bytes())
    return values
