"""Article rows as files hold them, and what a folder holds after a command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

GOOD = {
    "newsId": "a1",
    "coreEntityEmotions": [{"entity": "砚台超市", "emotion": "POS"}],
    "title": "砚台超市开业",
    "content": "砚台超市今天开业，砚台超市好评如潮。",
}


def rows(*items: object) -> bytes:
    """Return JSON lines of objects; strings stand for themselves."""
    return b"".join(f"{x if isinstance(x, str) else json.dumps(x, ensure_ascii=False)}\n".encode() for x in items)


def without(key: str) -> dict[str, object]:
    return {name: value for name, value in GOOD.items() if name != key}


def files_in(folder: Path) -> dict[str, bytes]:
    """Return every file but locks, which a run folder keeps."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def row(news_id: str, *names: str, emotion: str = "POS", **fields: Any) -> dict[str, Any]:
    """Return a row with some entities of one emotion; fields replace what it holds."""
    labels = [{"entity": name, "emotion": emotion} for name in names]
    return {"newsId": news_id, "title": "书讯", "content": "银杏书店开业。", "coreEntityEmotions": labels, **fields}


def text_of(*rows: dict[str, Any], end: str = "\n") -> str:
    """Return JSON lines of rows."""
    return "".join(f"{json.dumps(row, ensure_ascii=False)}{end}" for row in rows)
