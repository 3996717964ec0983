"""Rows in every form, as text."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

Write = Callable[[str, str | bytes], Path]

ENTITY_ROW = {"text": "青禾科技发布Nova", "entities": [{"entity": "青禾科技", "type": "公司", "from": 0, "to": 4}]}
TOKEN_ROW = {"tokens": ["青", "禾", "发布", "Nova", "3"], "tags": ["B-公司", "I-公司", "O", "B-产品", "I-产品"]}
REGION = {"start": 0, "end": 2, "text": "青禾", "labels": ["公司"]}


def lines(*rows: object) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def table(*rows: tuple[str, ...]) -> str:
    file = io.StringIO(newline="")
    csv.writer(file).writerows(rows)
    return file.getvalue()
