from __future__ import annotations

import pytest

from pipeline.report.not_offered import not_offered_reason
from pipeline.schema import Article
from pipeline.text import Document, match_key
from tests.support.located import located

TEXT = "松果银行今天公布利率。Nova与芈玥见面。"


@pytest.mark.parametrize(
    ("name", "offered", "want"),
    [
        ("果银", ["松果", "银行"], "not_candidate_segmentation"),
        ("银行今天", ["银行"], "not_candidate_boundary"),
        ("公布利率", ["今天公布利率"], "not_candidate_boundary"),
        ("NOVA", ["nova"], "not_candidate_boundary"),
        ("利率", ["松果"], "not_candidate_unknown_word"),
        ("利率", [], "not_candidate_unknown_word"),
    ],
)
def test_reason(name: str, offered: list[str], want: str) -> None:
    document = Document.of(Article("a1", "", TEXT))
    candidates = located(document, map(match_key, offered))
    assert not_offered_reason(name, candidates) == want
