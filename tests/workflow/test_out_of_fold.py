from pathlib import Path

import pandas as pd
import pytest

from pipeline.artifacts import RunFolder, write_table
from pipeline.schema import Article, Emotion, Entity
from pipeline.workflow.out_of_fold import out_of_fold_predictions, score_out_of_fold


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    folder = RunFolder(tmp_path / "run")
    ranked = [
        ("a1", "松果", "1", "0", "1", "1"),
        ("a1", "云杉 x2", "2", "0", "0", "1"),
        ("a1", "银杏", "3", "0", "1", "0"),
        ("007", "银杏", "1", "1", "1", "1"),
    ]
    columns = ["newsId", "entity", "rank", "fold", "is_gold", "is_chosen"]
    write_table(folder.oof("rerank"), pd.DataFrame(ranked, columns=columns))
    emotions = [
        ("a1", "松果", "0.1", "0.2", "0.7"),
        ("a1", "银杏", "0.8", "0.1", "0.1"),
        ("007", "银 杏", "0.1", "0.8", "0.1"),
        ("007", "银杏", "0.2", "0.5", "0.3"),
    ]
    write_table(
        folder.oof("sentiment"), pd.DataFrame(emotions, columns=["news_id", "name", "p_pos", "p_norm", "p_neg"])
    )
    return folder


def test_answers_join_choice_and_emotion_by_article(run: RunFolder) -> None:
    assert out_of_fold_predictions(run) == {
        "a1": [Entity("松果", Emotion.NEG), Entity("云杉 x2", Emotion.POS)],
        "007": [Entity("银杏", Emotion.NORM)],
    }


def test_score_compares_match_keys(run: RunFolder) -> None:
    articles = [
        Article("a1", "", "", (Entity("松果", Emotion.NEG), Entity("银杏", Emotion.POS))),
        Article("007", "", "", (Entity("银杏", Emotion.POS),)),
    ]
    scored = score_out_of_fold(run, articles)
    assert scored.entity_f1 == pytest.approx((0.5 + 1) / 2)
    assert scored.emotion_f1 == pytest.approx((0.5 + 0) / 2)
    wide = [Article("a1", "", "", (Entity("ＹＵＮ", Emotion.NEG), Entity("云杉 Ｘ2", Emotion.POS)))]
    assert score_out_of_fold(run, wide).entity_f1 == pytest.approx(0.5)
