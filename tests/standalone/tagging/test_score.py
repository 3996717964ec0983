"""The table of figures of tagging."""

from __future__ import annotations

from pipeline.metric import score_spans
from pipeline.standalone.tagging.score import format_scores
from pipeline.text.spans import Span


def test_plain_tags_have_a_line_of_their_own_and_no_spans_have_no_figures() -> None:
    scores = score_spans([[]], [[]], tags=[(["NN", "VV", "O"], ["NN", "NN", "O"]), (["NN"], ["NN"])])
    *_, micro, macro, _, accuracy = format_scores(scores).splitlines()
    assert micro.split() == ["micro", "-", "-", "-", "0", "0", "0"]
    assert macro.split() == ["macro", "-", "-", "-"]
    assert accuracy == "tag accuracy 0.7500 (3 of 4 tokens)"


def test_the_table_lists_types_with_both_averages() -> None:
    scores = score_spans([[Span(0, 1, "公司"), Span(2, 3)]], [[Span(0, 1, "公司"), Span(2, 4)]])
    assert format_scores(scores).splitlines() == [
        "1 rows; strict: both ends and the type of a span must be right",
        "",
        "type                    prec  recall      F1    hits    pred    gold",
        "(no type)             0.0000  0.0000  0.0000       0       1       1",
        "公司                  1.0000  1.0000  1.0000       1       1       1",
        "micro                 0.5000  0.5000  0.5000       1       2       2",
        "macro                 0.5000  0.5000  0.5000",
    ]
    assert scores.to_dict()["types"][""]["n_pred"] == 1
