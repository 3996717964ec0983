"""The cheap first ranking: columns worked by hand, a learnt signal, and which candidates are kept."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from pipeline.entities.candidates import CandidateSet, Source, locate
from pipeline.entities.pruning import COLUMNS, Pruner, pruning_matrix
from pipeline.errors import ArtifactError
from pipeline.schema import Article
from pipeline.text import Document, default_segmenter
from pipeline.text.spans import ScoredSpan
from tests.support.located import located

SEGMENTER = default_segmenter()


def candidates(title: str, content: str, sources: dict[str, int]) -> CandidateSet:
    document = Document.of(Article("1", title, content))
    return locate(document, SEGMENTER.cut(document.text), sources)


def pruner(**weights: float) -> Pruner:
    return Pruner(np.array([weights.get(name, 0.0) for name in COLUMNS]))


def test_columns_worked_by_hand() -> None:
    found = candidates("松果来", "云杉和松果", {"松果": int(Source.WORD | Source.GOLD), "云杉": int(Source.QUOTES)})
    matrix = pruning_matrix(found, SEGMENTER)
    assert matrix.shape == (2, len(COLUMNS))
    assert matrix.dtype == np.float64
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in matrix.tolist()]
    log_2, length = math.log(2), len("松果来\n云杉和松果")
    sources = [name for name in COLUMNS if name.startswith("from_")]
    assert len(sources) == len(Source)
    flags = dict.fromkeys([*sources, "tagger_max", "tagger_title_max"], 0.0)  # a run without a tagger
    assert rows[0] == pytest.approx(
        {
            "log_tf": log_2,
            "tf_share": 1.0,
            "in_title": 1.0,
            "log_tf_in_title": log_2,
            "log_first": 0.0,
            "first_share": 0.0,
            "length": 2.0,
            "length_squared": 4.0,
            "corpus_frequency": SEGMENTER.log_frequencies(["松果"])[0],
        }
        | flags
        | {"from_word": 1.0, "from_gold": 1.0}
    )
    assert rows[1] == pytest.approx(
        {
            "log_tf": 0.0,
            "tf_share": 0.5,
            "in_title": 0.0,
            "log_tf_in_title": 0.0,
            "log_first": math.log(5),
            "first_share": 4 / length,
            "length": 2.0,
            "length_squared": 4.0,
            "corpus_frequency": SEGMENTER.log_frequencies(["云杉"])[0],
        }
        | flags
        | {"from_quotes": 1.0}
    )


def test_scores_of_a_tagger() -> None:
    found = candidates("松果来", "云杉和松果", {"松果": 1, "云杉": 1})
    tagged = replace(found, tagged=[ScoredSpan(0, 2, 0.25), ScoredSpan(7, 9, 0.5)])
    places = [COLUMNS.index("tagger_max"), COLUMNS.index("tagger_title_max")]
    assert pruning_matrix(tagged, SEGMENTER)[:, places].tolist() == [[0.5, 0.25], [0, 0]]


def test_no_candidates_give_an_empty_matrix() -> None:
    assert pruning_matrix(candidates("", "", {}), SEGMENTER).shape == (0, len(COLUMNS))


def test_learns_a_planted_signal() -> None:
    rng = np.random.default_rng(0)
    matrices = [rng.normal(size=(40, len(COLUMNS))) for _ in range(20)]
    column = COLUMNS.index("tf_share")
    labels = [(matrix[:, column] > 1).astype(np.int8) for matrix in matrices]
    fitted = Pruner.fit(matrices, labels)
    assert np.argmax(np.abs(fitted.weights)) == column
    assert fitted.weights[column] > 0
    scores, gold = np.vstack(matrices) @ fitted.weights, np.concatenate(labels)
    assert scores[gold == 1].min() > np.median(scores)


def test_constant_columns_get_finite_weights() -> None:
    rng = np.random.default_rng(0)
    matrix = np.zeros((50, len(COLUMNS)))
    matrix[:, 0] = rng.normal(size=50)
    fitted = Pruner.fit([matrix], [(matrix[:, 0] > 0).astype(np.int8)])
    assert np.isfinite(fitted.weights).all()
    assert fitted.weights[1:] == pytest.approx(0)


@pytest.mark.parametrize("label", [0, 1])
def test_labels_of_one_kind_teach_nothing(label: int) -> None:
    fitted = Pruner.fit([np.ones((3, len(COLUMNS)))], [np.full(3, label)])
    assert not fitted.weights.any()


def test_no_articles_teach_nothing() -> None:
    assert not Pruner.fit([], []).weights.any()


def test_keeps_the_best_in_order_of_first_occurrence() -> None:
    found = candidates(
        "", "甲一 乙二 丙三 丁四 乙二 丁四 丁四 丙三", dict.fromkeys(["甲一", "乙二", "丙三", "丁四"], 1)
    )
    kept = pruner(log_tf=1.0).keep(found, SEGMENTER, 2)
    assert kept.keys == ["乙二", "丁四"]
    assert [len(kept.spans(row)) for row in range(2)] == [2, 3]
    assert pruner(log_first=1.0).keep(found, SEGMENTER, 1).keys == ["丁四"]


def test_the_earlier_wins_a_tie() -> None:
    found = candidates("", "甲一 乙二 丙三 丁四", dict.fromkeys(["丁四", "丙三", "乙二", "甲一"], 1))
    assert pruner().keep(found, SEGMENTER, 3).keys == ["甲一", "乙二", "丙三"]


def test_differences_in_the_last_bits_are_ties() -> None:
    found = candidates("", "甲一 乙二", {"甲一": 1, "乙二": 2})
    assert pruner(from_words=1e-12).keep(found, SEGMENTER, 1).keys == ["甲一"]


def test_agrees_with_a_naive_choice() -> None:
    rng = np.random.default_rng(3)
    text = "".join(rng.choice(list("甲乙丙丁一二三四"), 120))
    found = candidates(text[:20], text[20:], {text[i : i + n]: 1 for i in range(110) for n in (2, 3)})
    weights = Pruner(rng.normal(size=len(COLUMNS)))
    scores = [round(float(score), 9) for score in pruning_matrix(found, SEGMENTER) @ weights.weights]
    best = sorted(range(len(found)), key=lambda row: (-scores[row], row))[:25]
    assert weights.keep(found, SEGMENTER, 25).keys == [found.keys[row] for row in sorted(best)]


def test_few_candidates_are_all_kept() -> None:
    found = located(Document.of(Article("1", "", "松果云杉")), ["松果", "云杉"], SEGMENTER)
    assert pruner(log_tf=-1.0).keep(found, SEGMENTER, 2) is found
    assert len(pruner().keep(candidates("", "", {}), SEGMENTER, 3)) == 0


def test_dictionary_round_trip() -> None:
    weights = Pruner(np.random.default_rng(0).normal(size=len(COLUMNS)))
    again = Pruner.from_dict(weights.to_dict())
    assert again.weights.tolist() == weights.weights.tolist()


@pytest.mark.parametrize("names", [COLUMNS[:-1], COLUMNS[::-1], (*COLUMNS, "more"), ()])
def test_other_columns_are_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(ArtifactError, match=r"pruner: has columns .* this version wants"):
        Pruner.from_dict(dict.fromkeys(names, 0.0))
