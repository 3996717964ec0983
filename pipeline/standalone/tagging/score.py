"""Figures of plain tagging as a table; ``pipeline.metric.spans`` says how they are counted."""

from __future__ import annotations

from pipeline.metric import Averages, Counts, TagScores
from pipeline.text.terminal import columns, padded, shown

TYPELESS = "(no type)"


def format_scores(scores: TagScores) -> str:
    """Lay the figures out as a plain-text table."""
    rows = [(shown(label) or TYPELESS, counts) for label, counts in scores.types.items()]
    width = max([20, *(columns(name) + 2 for name, _ in rows)])
    lines = [
        f"{scores.n_rows} rows; strict: both ends and the type of a span must be right",
        "",
        f"{'type':<{width}}{'prec':>8}{'recall':>8}{'F1':>8}{'hits':>8}{'pred':>8}{'gold':>8}",
    ]
    for name, counts in (*rows, ("micro", scores.micro)):
        lines.append(f"{padded(name, width)}{_ratios(counts)}{counts.hits:>8}{counts.n_pred:>8}{counts.n_gold:>8}")
    lines.append(f"{'macro':<{width}}{_ratios(scores.macro)}")
    if scores.tag_accuracy is not None:
        lines += ["", f"tag accuracy {scores.tag_accuracy:.4f} ({scores.n_right_tags} of {scores.n_tags} tokens)"]
    return "\n".join(lines)


def _ratios(figures: Counts | Averages) -> str:
    return "".join(f"{figure_text(value):>8}" for value in (figures.precision, figures.recall, figures.f1))


def figure_text(value: float | None) -> str:
    """Write a figure with four digits; "-" where there is none."""
    return "-" if value is None else f"{value:.4f}"
