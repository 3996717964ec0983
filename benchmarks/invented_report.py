"""Invented figures and articles in the form that the analysis gives to the page."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from pipeline.report.html.texts import REASONS

NAMES = ("云杉汽车", "林知远", "北岸科技", "《长夜灯》", "青禾学院", "Aster", "海潮队", "沈未央", "星桥", "白鹿湾")
WORDS = ("昨天", "宣布", "新产品", "比赛", "观众", "认为", "价格", "上涨", "合作", "质量", "市场", "表示", "，", "。")
EMOTIONS = ("POS", "NORM", "NEG")
SLICE_VALUES = {
    "topic": ("汽车 新车 发动机", "电影 导演 票房", "比赛 球队 冠军"),
    "length": ("0-400", "400-1000", "1000+"),
    "n_gold": ("1", "2", "3"),
    "script": ("cjk", "latin", "mixed"),
    "mixed_emotion": ("yes", "no"),
}


def share(value: float, half: float = 0.03) -> dict[str, float]:
    """Return a figure with an interval."""
    return {"value": value, "low": max(0.0, value - half), "high": min(1.0, value + half)}


def ladder_row(key: str, score: float, cost: float | None) -> dict[str, Any]:
    """Return a row of the ladder with this score."""
    figure = share(score)
    return {
        "key": key,
        "entity_f1": {**figure, "value": min(1.0, score + 0.09)},
        "emotion_f1": {**figure, "value": max(0.0, score - 0.09)},
        "score": figure,
        "cost": cost,
    }


def figures(n_articles: int = 120) -> dict[str, Any]:
    """Return a report.json of invented figures whose sums agree."""
    missed = dict(zip(REASONS, (4, 12, 9, 21, 3, 58, 17), strict=True))
    return {
        "schema_version": 1,
        "run": {"name": "first", "command": "train", "seed": 7, "mode": "two_stage", "preset": "cpu"},
        "gold": {"path": "data/test.jsonl", "n_articles": n_articles, "n_gold": 260},
        "lang": "en",
        "summary": {
            "entity_f1": share(0.597, 0.05),
            "emotion_f1": share(0.417, 0.06),
            "score": share(0.507, 0.055),
            "micro": {"entity_precision": 0.6, "entity_recall": 0.53, "entity_f1": 0.57},
            "emotion_accuracy_on_hits": {"value": 0.69, "n": 136},
        },
        "ladder": [
            ladder_row("real", 0.507, None),
            ladder_row("perfect_candidates", 0.561, 5.4),
            ladder_row("perfect_ranking", 0.664, 15.7),
            ladder_row("perfect_number", 0.548, 4.1),
            ladder_row("perfect_emotion", 0.597, 9.0),
            ladder_row("perfect_candidates+perfect_ranking", 0.812, 30.5),
            ladder_row("perfect_candidates+perfect_ranking+perfect_number", 0.853, 34.6),
            ladder_row("perfect_candidates+perfect_ranking+perfect_number+perfect_emotion", 1.0, 49.3),
            ladder_row("random", 0.031, None),
            ladder_row("most_frequent", 0.262, None),
        ],
        "attribution": {
            "missed": missed,
            "hits": {"right_emotion": 94, "wrong_emotion": 42},
            "n_missed": sum(missed.values()),
            "n_hits": 136,
            "n_spurious": 88,
            "n_gold": sum(missed.values()) + 136,
            "n_pred": 224,
        },
        "slices": [
            {
                "slice": name,
                "value": value,
                "n_articles": 40 - 4 * index,
                "entity_f1": share(0.45 + 0.04 * index),
                "emotion_f1": share(0.3 + 0.04 * index),
                "score": share(0.37 + 0.04 * index, 0.07),
                "n_gold": 81,
            }
            for index, (name, value) in enumerate(
                [("script", "latin"), ("topic", SLICE_VALUES["topic"][0]), ("mixed_emotion", "yes"), ("n_gold", "3"),
                 ("length", "1000+"), ("topic", SLICE_VALUES["topic"][1]), ("script", "cjk"), ("mixed_emotion", "no")]
            )
        ],
        "emotion": {
            "classes": list(EMOTIONS),
            "confusion": [[52, 14, 3], [11, 30, 6], [2, 6, 12]],
            "per_class": {
                name: {"precision": 0.7, "recall": 0.64, "f1": 0.67, "n": n}
                for name, n in zip(EMOTIONS, (69, 47, 20), strict=True)
            },
            "accuracy": 0.69,
            "macro_f1": 0.65,
            "majority": {"emotion": "POS", "accuracy": 0.51},
            "reliability": [
                {"low": 0.3 + 0.1 * k, "high": 0.4 + 0.1 * k, "n": (0, 9, 21, 30, 33, 28, 15)[k],
                 "confidence": 0.35 + 0.1 * k, "accuracy": 0.34 + 0.09 * k}
                for k in range(7)
            ],
            "expected_calibration_error": 0.041,
            "gold_targets": {"accuracy": 0.66, "n": 260},
            "predicted_targets": {"accuracy": 0.69, "n": 136},
            "gap": -0.03,
        },
        "recall_at_k": [
            {"k": k, "recall": recall}
            for k, recall in zip(
                (1, 2, 3, 5, 10, 20, 50, 100, 150, "all"),
                (0.28, 0.44, 0.53, 0.64, 0.75, 0.81, 0.86, 0.88, 0.885, 0.897),
                strict=True,
            )
        ],
        "threshold_curve": {
            "points": [{"floor": k / 20, "entity_f1": 0.6 - (k / 20 - 0.24) ** 2} for k in range(1, 11)],
            "chosen": {"floor": 0.24, "share_of_top": 0.4},
        },
        "learning_curve": [
            {"n_articles": n, **ladder_row("", 0.325 + n / 4000, None)}
            for n in (80, 160, 320, 640)
        ],
    }  # fmt: skip


def found(text: str, name: str) -> list[tuple[int, int]]:
    """Return where a name stands in a text, in code points."""
    places, start = [], text.find(name)
    while start >= 0:
        places.append((start, start + len(name)))
        start = text.find(name, start + 1)
    return places


def mentions(title: str, content: str, name: str) -> list[list[Any]]:
    """Return the mentions of a name in an article."""
    return [["title", *place] for place in found(title, name)] + [["content", *place] for place in found(content, name)]


def view(
    number: int, *, title: str | None = None, content: str | None = None, n_chars: int = 600, id_: str | None = None
) -> dict[str, Any]:
    """Return an article; the same number gives the same article."""
    rng = random.Random(number)
    names = rng.sample(NAMES, 5)
    if content is None:
        parts = [rng.choice(names[:4]) if rng.random() < 0.12 else rng.choice(WORDS) for _ in range(n_chars // 2)]
        content = "".join(parts[: len(parts) // 2]) + "。\n" + "".join(parts[len(parts) // 2 :])
    title = f"{names[0]}与{names[1]}：第{number}号新闻" if title is None else title
    gold: list[dict[str, Any]] = []
    for index, name in enumerate(names[: rng.randint(1, 3)]):
        is_hit = index < 2 and rng.random() < 0.6
        gold.append(
            {
                "entity": name,
                "emotion": rng.choice(EMOTIONS),
                "mentions": mentions(title, content, name),
                "reason": None if is_hit else rng.choice(REASONS),
                "is_right_emotion": rng.random() < 0.7 if is_hit else None,
            }
        )
    hits = {entity["entity"]: entity for entity in gold if entity["reason"] is None}
    chosen = [*hits, names[4]][: rng.randint(1, 3)]
    pred = []
    for name in chosen:
        emotion = rng.choice(EMOTIONS)
        if name in hits and hits[name]["is_right_emotion"]:
            emotion = hits[name]["emotion"]
        probs = [0.62 if one == emotion else 0.19 for one in EMOTIONS]
        pred.append(
            {
                "entity": name,
                "emotion": emotion,
                "score": round(rng.random(), 4),
                "probs": probs,
                "is_gold": name in hits,
                "mentions": mentions(title, content, name),
                "features": [
                    {"name": f"feature_{index}", "value": rng.randint(0, 9), "shap": rng.uniform(-1, 1)}
                    for index in range(8)
                ],
            }
        )
    heat = [["content", start, start + 1, rng.random()] for start in range(0, min(40, len(content)), 2)]
    is_right = [entity["is_right_emotion"] is True for entity in gold]
    return {
        "id": id_ or f"{number:08x}",
        "title": title,
        "content": content,
        "gold": gold,
        "pred": pred,
        "next": [{"entity": name, "score": round(rng.random() / 9, 4), "is_gold": False} for name in NAMES[:6]],
        "attention": [{"entity": chosen[0], "head": "ian", "weights": heat}],
        "slices": {name: rng.choice(values) for name, values in SLICE_VALUES.items()},
        "entity_f1": len(hits) / len(gold),
        "emotion_f1": sum(is_right) / len(gold),
    }


def views(n_articles: int, *, n_chars: int = 600) -> Iterator[dict[str, Any]]:
    """Yield so many articles."""
    return (view(number, n_chars=n_chars) for number in range(n_articles))
