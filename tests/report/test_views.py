from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.artifacts import RunFolder
from pipeline.report import Report
from pipeline.report.build import explain_article
from pipeline.report.errors_table import COLUMNS, error_rows, errors_table
from pipeline.report.ladder import human_row
from pipeline.report.terminal import article_text, ladder_text
from pipeline.schema import Article
from pipeline.submission import read_table
from tests.support.command_line import TinyRuns


def test_attention_lies_on_the_texts(tiny_runs: TinyRuns, gold: list[Article]) -> None:
    """A run whose emotions come from a head with attention, averaged over its fold models."""
    run = RunFolder.load(tiny_runs.train(overrides=["sentiment.choose=ian"]).path)
    view = explain_article(run, gold[0])
    assert [item["entity"] for item in view["attention"]] == [row["entity"] for row in view["pred"]]
    for item in view["attention"]:
        assert item["head"] == "ian"
        weights = [weight for *_, weight in item["weights"]]
        assert max(weights) == 1
        assert min(weights) >= 0
        text = "".join(view[field][start:end] for field, start, end, _ in item["weights"])
        assert item["entity"] in text
        assert view["title"].replace(" ", "") in text
    assert "ian looked at: " in article_text(view)


def test_error_rows_are_the_errors(report: Report) -> None:
    rows = [row for view in report.views for row in error_rows(view)]
    counts = {kind: sum(row["kind"] == kind for row in rows) for kind in ("missed", "wrong_emotion", "spurious")}
    figures = report.figures["attribution"]
    assert counts == {
        "missed": figures["n_missed"],
        "wrong_emotion": figures["hits"]["wrong_emotion"],
        "spurious": figures["n_spurious"],
    }


def test_the_table_is_written_while_views_pass(report: Report, tmp_path: Path) -> None:
    path = tmp_path / "errors.csv"
    with errors_table(path, report.views) as views:
        assert list(views) == list(report.views)
        assert not path.exists()
    table = read_table(path)
    assert list(table.columns) == list(COLUMNS)
    lost = table[table["newsId"] == "lost"].set_index("entity")
    assert lost.loc["从未出现", "kind"] == "missed"
    assert lost.loc["从未出现", "reason"] == "not_in_text"
    assert lost.loc["从未出现", "score"] == ""
    assert lost.loc["砚台超市", "kind"] == "wrong_emotion"
    assert lost.loc["砚台超市", "gold_emotion"] == "NEG"
    assert float(lost.loc["砚台超市", "p_neg"]) <= 0.5


@pytest.mark.parametrize("name", ["=1+1", "+86", "-5℃", "@松果", "\t=1"])
def test_no_cell_of_text_is_a_formula(tmp_path: Path, name: str) -> None:
    """A name comes from an article, and the table is opened in a spreadsheet."""
    view = {
        "id": "=cmd",
        "gold": [{"entity": name, "emotion": "POS", "reason": "not_in_text", "score": None, "features": []}],
        "pred": [{"entity": "云杉", "emotion": "NEG", "score": -0.5, "probs": (0.1, 0.2, 0.7), "features": []}],
    }
    with errors_table(tmp_path / "errors.csv", [view]) as views:
        assert list(views) == [view]
    table = read_table(tmp_path / "errors.csv")
    assert list(table["entity"]) == [f"'{name}", "云杉"]
    assert list(table["newsId"]) == ["'=cmd"] * 2
    assert list(table["score"]) == ["", "-0.5"]


def test_a_failure_leaves_no_table(report: Report, tmp_path: Path) -> None:
    def use() -> None:
        with errors_table(tmp_path / "errors.csv", report.views) as views:
            next(views)
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        use()
    assert list(tmp_path.iterdir()) == []


def test_the_ladder_as_text(report: Report) -> None:
    text = ladder_text(report.figures)
    real = report.figures["ladder"][0]["score"]["value"]
    assert f"{real:.4f}" in next(line for line in text.splitlines() if line.startswith("real "))
    assert f"  ranked_out{report.figures['attribution']['missed']['ranked_out']:>24}" in text
    assert "+perfect" not in text
    assert "human" not in text


def test_two_people_are_shown_with_their_source(report: Report) -> None:
    row = human_row()
    text = ladder_text({**report.figures, "ladder": [*report.figures["ladder"], row]})
    assert f"human: {row['source']}" in text.splitlines()
    assert "0.6050" in next(line for line in text.splitlines() if line.startswith("human "))


def test_an_article_as_text_cannot_command_the_terminal(run: RunFolder) -> None:
    article = Article("a\x1b[31m", "砚台超市\x1b]0;x\x07开业", "砚台超市\u202e好评如潮，砚台超市。")
    text = article_text(explain_article(run, article))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "砚台超市" in text
    assert "lifted by" in text
    assert "next candidates" in text


def test_an_article_without_candidates_as_text(run: RunFolder) -> None:
    assert "none" in article_text(explain_article(run, Article("a1", "", "。")))
