"""Invented outcomes: articles whose gold names got this far or that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

from pipeline.report.outcome import Outcome, Standing
from pipeline.schema import EMOTIONS, Emotion, Entity

POS, NORM, NEG = EMOTIONS
NAMES = ("松果", "云杉", "银杏", "海棠", "白桦")


def outcome(
    gold: Mapping[str, Emotion],
    *,
    ranks: Mapping[str, int],
    n_chosen: int,
    kept: Sequence[str] | None = None,
    offered: Sequence[str] | None = None,
    in_text: Sequence[str] | None = None,
    with_gold: Standing | None = None,
    emotions: Mapping[str, Emotion] | None = None,
    frequent: Sequence[str] = (),
) -> Outcome:
    """Build an outcome; what is left out follows from the ranks."""
    kept = list(ranks) if kept is None else kept
    offered = kept if offered is None else offered
    in_text = offered if in_text is None else in_text
    hits = tuple(name for name, place in sorted(ranks.items(), key=lambda item: item[1]) if place < n_chosen)
    standing = Standing(ranks, hits, n_chosen)
    return Outcome(
        gold=tuple(Entity(name, emotion) for name, emotion in gold.items()),
        in_text=frozenset(in_text),
        offered=frozenset(offered),
        kept=frozenset(kept),
        standing=standing,
        with_gold=with_gold or standing,
        emotions=gold if emotions is None else emotions,
        n_offered=20,
        frequent=tuple(frequent),
        not_offered={name: "not_candidate_boundary" for name in in_text if name not in offered},
    )


@st.composite
def outcomes(draw: st.DrawFn) -> Outcome:
    """Any way that gold names can get lost, with random ranks, numbers and emotions."""
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=5))
    gold = {name: draw(st.sampled_from(EMOTIONS)) for name in names}
    emotions = {name: draw(st.sampled_from(EMOTIONS)) for name in names}

    def part(of: Sequence[str]) -> list[str]:
        return [name for name in of if draw(st.booleans())]

    def standing(of: Sequence[str]) -> Standing:
        places = draw(st.lists(st.integers(0, 9), unique=True, min_size=len(of), max_size=len(of)))
        ranks = dict(zip(of, places, strict=True))
        n_chosen = draw(st.integers(1, 3))
        return Standing(ranks, tuple(name for name in of if ranks[name] < n_chosen), n_chosen)

    in_text = part(names)
    offered = part(in_text)
    kept = part(offered)
    # A name in two spellings may be kept without a place of its own.
    own = standing(part(kept))
    return Outcome(
        gold=tuple(Entity(name, emotion) for name, emotion in gold.items()),
        in_text=frozenset(in_text),
        offered=frozenset(offered),
        kept=frozenset(kept),
        standing=own,
        with_gold=standing(in_text),
        emotions=emotions,
        n_offered=draw(st.integers(10, 30)),
        frequent=tuple(draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=3))),
        not_offered={name: "not_candidate_segmentation" for name in in_text if name not in offered},
    )
