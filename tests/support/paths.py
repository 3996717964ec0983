"""Where things lie that tests read."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "data" / "sample"
FILES = ROOT / "tests" / "files"
GOLDEN = ROOT / "tests" / "golden"
ASSETS = ROOT / "pipeline" / "report" / "html" / "assets"
TINY_ARTICLES = FILES / "tiny.jsonl"
"""Invented articles with a planted signal."""
