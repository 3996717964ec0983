"""Figures of plain tagging as a table; ``pipeline.metric.spans`` says how they are counted."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.metric import Averages, Counts, Outcomes, TagScores
from pipeline.text.terminal import columns, padded, shown

TYPELESS = "(no type)"
MEANINGS = {
    "exact": "both ends right, whatever the type",
    "partial": "half a point for a span that overlaps",
    "type": "the type right, of a span that overlaps",
}
"""Of the figures beside the strict ones, as nervaluate names them; ``pipeline.metric.overlap`` defines them."""
BASELINES = {"majority": "always the commonest tag", "most_frequent_tag": "the commonest tag of each word"}


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


def format_overlap(outcomes: Mapping[str, Outcomes]) -> str:
    """Lay out the figures that take no notice of types, or give half a point."""
    lines = ["partly right (SemEval-2013)    prec  recall      F1"]
    lines += [f"{name:<27}{_ratios(outcomes[name])}  {meaning}" for name, meaning in MEANINGS.items()]
    return "\n".join(lines)


def format_baselines(accuracies: Mapping[str, float | None]) -> str:
    """Lay out what needs no network, to be read beside the tag accuracy."""
    return "\n".join(f"baseline     {figure_text(accuracies[name])} ({text})" for name, text in BASELINES.items())


def _ratios(figures: Counts | Averages | Outcomes) -> str:
    return "".join(f"{figure_text(value):>8}" for value in (figures.precision, figures.recall, figures.f1))


def figure_text(value: float | None) -> str:
    """Write a figure with four digits; "-" where there is none."""
    return "-" if value is None else f"{value:.4f}"
