"""``errors.csv``: one row for every entity that is missed, wrong in its emotion, or spurious."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipeline.artifacts import atomic_writer, safe_cell
from pipeline.report.views import View

COLUMNS = (
    *("newsId", "kind", "entity", "gold_emotion", "pred_emotion", "reason", "score"),
    *("p_pos", "p_norm", "p_neg", "features"),
)
MISSED, WRONG_EMOTION, SPURIOUS = "missed", "wrong_emotion", "spurious"


def error_rows(view: View) -> Iterator[dict[str, Any]]:
    """Yield the errors of one article: the gold entities in their order, then the spurious ones."""
    pred = {row["entity"]: row for row in view["pred"]}
    gold = {row["entity"] for row in view["gold"]}
    for row in view["gold"]:
        answer = pred.get(row["entity"])
        if row["reason"] is not None:
            yield _row(view, MISSED, row, gold_emotion=row["emotion"], reason=row["reason"])
        elif answer is not None and not row["is_right_emotion"]:
            yield _row(view, WRONG_EMOTION, answer, gold_emotion=row["emotion"], pred_emotion=answer["emotion"])
    for row in view["pred"]:
        if row["entity"] not in gold:
            yield _row(view, SPURIOUS, row, pred_emotion=row["emotion"])


def _row(view: View, kind: str, row: dict[str, Any], **facts: str) -> dict[str, Any]:
    probs = dict(zip(("p_pos", "p_norm", "p_neg"), row.get("probs", ()), strict=False))
    features = "; ".join(f"{item['name']}={item['value']} ({item['shap']:+.3f})" for item in row["features"])
    own = {"kind": kind, "entity": row["entity"], "score": row["score"], "features": features}
    return {"newsId": view["id"], **own, **probs, **facts}


@contextmanager
def errors_table(path: Path, views: Iterable[View]) -> Iterator[Iterator[View]]:
    """Lend the views again; every one that is taken has its errors written, and the table is published at the end."""
    with atomic_writer(path) as file:
        table = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        table.writeheader()

        def passing() -> Iterator[View]:
            for view in views:
                for row in error_rows(view):
                    known = {name: value for name, value in row.items() if value is not None}
                    table.writerow({name: safe_cell(value) for name, value in known.items()})
                yield view

        yield passing()
