"""What the stages made of one article's gold entities: all that ladder, attribution and curves read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.entities.candidates import CandidateSet, Source
from pipeline.report.not_offered import not_offered_reason
from pipeline.schema import MAX_ENTITIES, Article, Emotion, Entity
from pipeline.submission.clean import clean_name, clean_names
from pipeline.text import match_key
from pipeline.workflow.entity_finder import Ranking
from pipeline.workflow.predict import Predictor
from pipeline.workflow.traces import Trace

INJECTED = Source.WORDS
"""Said to be the source of a gold name that no generator offered: the loosest of them."""


@dataclass(frozen=True)
class Standing:
    """Where the gold names stand in one ranking of an article's candidates."""

    ranks: Mapping[str, int]
    """Place of each gold name, 0 for the best, among the distinct names; a name of which another spelling stands
    before it has none."""
    hits: tuple[str, ...]
    """Gold names in the answer."""
    n_chosen: int
    """Names in the answer."""


@dataclass(frozen=True)
class Outcome:
    """One article's way through the stages, told by its gold names. Names are as the upload file holds them."""

    gold: tuple[Entity, ...]
    in_text: frozenset[str]
    """Gold names that the text holds in this very spelling."""
    offered: frozenset[str]
    """Gold names among the candidates before pruning."""
    kept: frozenset[str]
    """Gold names among the candidates after pruning."""
    standing: Standing
    """In the pipeline's own ranking."""
    with_gold: Standing
    """In the ranking that the reranker gives where every gold name of the text is a candidate."""
    emotions: Mapping[str, Emotion]
    """What stage two says of each gold name."""
    n_offered: int
    """Distinct candidates before pruning."""
    frequent: tuple[str, ...]
    """As many candidates as the answer has names, the most frequent first."""
    not_offered: Mapping[str, str]
    """Sub-reason of each gold name that is in the text but not offered."""

    @property
    def names(self) -> tuple[str, ...]:
        """The gold names."""
        return tuple(entity.name for entity in self.gold)


def gold_entities(article: Article) -> tuple[Entity, ...]:
    """Return the labels of an article as the metric compares them: outer blanks trimmed, no name twice."""
    by_name = {entity.name.strip(): entity.emotion for entity in article.entities or ()}
    return tuple(Entity(name, emotion) for name, emotion in by_name.items())


def answered(trace: Trace) -> tuple[tuple[int, str], ...]:
    """Return index and name of the predicted entities, as the upload file holds them."""
    return clean_names(entity.name for entity in trace.prediction.entities).kept


def outcome_of(predictor: Predictor, trace: Trace, emotions: Mapping[str, Emotion]) -> Outcome:
    """Compare an article's trace with its labels.

    Args:
        predictor: ranks again with the gold names added.
        trace: of a labelled article.
        emotions: predicted emotion of each gold name.
    """
    article, gold = trace.article, gold_entities(trace.article)
    names = frozenset(entity.name for entity in gold)
    keys = {match_key(name) for name in names}
    in_text = frozenset(name for name in names if name in article.title or name in article.content)
    offered = names & frozenset(_names(trace.offered, keys).values())
    kept = names & frozenset(_names(trace.ranked.candidates, keys).values())
    spelling = {match_key(name): name for name in sorted(in_text)}
    return Outcome(
        gold=gold,
        in_text=in_text,
        offered=offered,
        kept=kept,
        standing=_standing(trace.ranked, names, {}),
        with_gold=_standing(predictor.rank_with(trace, sorted(spelling), INJECTED), names, spelling),
        emotions=emotions,
        n_offered=len(trace.offered),
        frequent=_most_frequent(trace.offered, len(trace.ranked.chosen)),
        not_offered={name: not_offered_reason(name, trace.offered) for name in sorted(in_text - offered)},
    )


def _names(candidates: CandidateSet, keys: set[str]) -> dict[int, str]:
    """Return the names of the candidates that have one of the keys, by row."""
    return {row: clean_name(candidates.surface(row)) for row, key in enumerate(candidates.keys) if key in keys}


def _standing(ranked: Ranking, names: frozenset[str], spelling: Mapping[str, str]) -> Standing:
    """Find the gold names in a ranking; ``spelling`` overrules how candidates with these keys are written."""
    candidates = ranked.candidates
    keys = {match_key(name) for name in names}
    written = {row: spelling.get(candidates.keys[row], name) for row, name in _names(candidates, keys).items()}
    ranks: dict[str, int] = {}
    for place, row in enumerate(ranked.order):
        if written.get(row) in names:
            ranks.setdefault(written[row], place)
    chosen = clean_names(written.get(row) or candidates.surface(row) for row in ranked.chosen).kept
    return Standing(ranks, tuple(name for _, name in chosen if name in names), len(chosen))


def _most_frequent(candidates: CandidateSet, count: int) -> tuple[str, ...]:
    """Return the names that occur most often; the earlier wins a tie, and the longer of two that begin together."""
    best = (-candidates.counts).argsort(kind="stable")[: min(count, MAX_ENTITIES)]
    return tuple(name for _, name in clean_names(candidates.surface(int(row)) for row in best).kept)
