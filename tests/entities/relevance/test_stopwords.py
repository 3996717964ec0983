"""Stopwords in articles: left out of titles and contexts, never of names, and kept with the model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.entities.relevance import RelevanceStage, read_stopwords
from pipeline.entities.relevance.encoding import EncodedArticle, TokenReader
from pipeline.errors import DataError
from pipeline.nn.vocab import Vocabulary
from tests.entities.relevance.test_stage import CONFIG, FOLDS, PAIRS, pairs_of


def test_stopwords_are_not_read_but_inside_of_names() -> None:
    article = pairs_of("大奖的", "云的云杉汽车的奖")
    vocabulary = Vocabulary.of_tokens(article.tokens, min_count=1)
    encoded = EncodedArticle(article, TokenReader(vocabulary, ("的", "云")))
    forms = {number: form for form in article.tokens for number in vocabulary.encode([form])}
    forms |= {len(vocabulary): "[", len(vocabulary) + 1: "]"}
    assert "".join(forms[number] for number in encoded.title.tolist()) == "大奖"
    assert "".join(forms[number] for number in encoded.context(0).tolist()) == "[云杉汽车]奖"


def test_a_file_is_read_normalised(tmp_path: Path) -> None:
    (tmp_path / "stop.txt").write_text("\ufeff的\r\nＡＢ\n\n的\n", encoding="utf-8")
    assert read_stopwords(str(tmp_path / "stop.txt")) == ("ab", "的")
    assert read_stopwords("") == ()
    with pytest.raises(DataError, match="nowhere"):
        read_stopwords(str(tmp_path / "nowhere"))


def test_the_model_keeps_its_stopwords_and_other_words_train_again(tmp_path: Path) -> None:
    path = tmp_path / "stop.txt"
    path.write_text("在\n场\n", encoding="utf-8")
    once = replace(CONFIG, stopwords=str(path), training=replace(CONFIG.training, max_epochs=1))
    stage = RelevanceStage(once, seed=7, log=tmp_path / "log.jsonl").fit(PAIRS, FOLDS, folder=tmp_path / "run")
    path.write_text("在\n", encoding="utf-8")
    other = RelevanceStage(once, seed=7, log=tmp_path / "log.jsonl").fit(PAIRS, FOLDS, folder=tmp_path / "run2")
    path.unlink()
    loaded = RelevanceStage.load(tmp_path / "run", once, seed=7)
    assert all(map(np.array_equal, loaded.predict(PAIRS), stage.predict(PAIRS)))
    assert not all(map(np.array_equal, other.predict(PAIRS), stage.predict(PAIRS)))
