"""Which members of stage two are measured, which of them may answer, and what is said of the one that does."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.config import SentimentConfig
from pipeline.config.emotions import AND, AUTO, BASELINE
from pipeline.emotions.sentiment.scores import Scores


def measured(options: SentimentConfig) -> list[str]:
    """Name the members that are trained: those asked for, and the baseline, which shows what they gain."""
    return list(dict.fromkeys([BASELINE, *options.members]))


def contenders(options: SentimentConfig) -> list[str]:
    """Name the rows that may answer: the one that was asked for, or else each member and the average of all.

    The baseline is among them only where it is named in ``choose`` or the only member.
    """
    if options.choose != AUTO:
        return [options.choose]
    real = [name for name in options.members if name != BASELINE]
    return [*real, *([AND.join(real)] if len(real) > 1 else [])] or [BASELINE]


def table_rows(options: SentimentConfig) -> list[str]:
    """Name the rows of the table: each member, the average of all, and what the configuration asks for."""
    everything = SentimentConfig(members=options.members)
    return list(dict.fromkeys([BASELINE, *contenders(everything), *contenders(options)]))


def best_row(table: Sequence[Scores], names: Sequence[str]) -> Scores:
    """Return the row of the best accuracy among those named; the first of equals."""
    return max((row for row in table if row.member in names), key=lambda row: row.accuracy)


def no_better(answers: Scores, baseline: Scores, *, n_examples: int) -> str | None:
    """Return a warning where what answers is no better out-of-fold than the baseline; None where it is."""
    if answers.member == baseline.member or answers.accuracy > baseline.accuracy:
        return None
    fewer = round((baseline.accuracy - answers.accuracy) * n_examples)
    return (
        f"emotion: {answers.member} answers and is no better than always the most frequent emotion: out-of-fold "
        f"accuracy {answers.accuracy:.4f}, {baseline.member} {baseline.accuracy:.4f}, {fewer} fewer of {n_examples} "
        f"entities right (other models: sentiment.members; the baseline itself: sentiment.choose={baseline.member})"
    )


def plan(options: SentimentConfig) -> list[str]:
    """Say in two lines which members are trained and what will answer."""
    names = contenders(options)
    if options.choose != AUTO:
        answer = f"{names[0]} (sentiment.choose)"
    elif len(names) == 1:
        answer = names[0]
    else:
        answer = f"the best out-of-fold of {', '.join(names)} (sentiment.choose={AUTO})"
    extra = "" if BASELINE in options.members else f"; {BASELINE} is measured beside them"
    return [f"emotion members: {', '.join(options.members)}{extra}", f"emotions are answered by: {answer}"]
