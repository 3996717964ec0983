from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config import RelevanceConfig
from pipeline.entities.relevance import ArticlePairs, article_pairs
from pipeline.entities.relevance.encoding import EncodedArticle, TokenReader, TrainingPairs, article_batches
from pipeline.nn.vocab import Vocabulary
from pipeline.schema import Article
from pipeline.text import Document
from tests.support.located import located


def pairs_of(
    title: str, content: str, *keys: str, gold: Sequence[str] = (), news_id: str = "a1", **options: int | str
) -> ArticlePairs:
    document = Document.of(Article(news_id, title, content))
    config = RelevanceConfig(name="malstm", **options)  # type: ignore[arg-type]
    return article_pairs(located(document, keys), config, gold=set(gold))


def title_of(pairs: ArticlePairs) -> str:
    return "".join(pairs.tokens[slice(*pairs.title)])


def contexts(pairs: ArticlePairs) -> list[str]:
    """Show each context, its marked names in [] and its pieces divided by |."""
    return [
        "|".join(
            f"{''.join(pairs.tokens[start:first])}[{''.join(pairs.tokens[first:last])}]{''.join(pairs.tokens[last:stop])}"
            for start, first, last, stop in pairs.context(row)
        )
        for row in range(len(pairs))
    ]


def test_title_with_the_sentences_that_name_the_candidate() -> None:
    pairs = pairs_of(
        "银杏书店开业", "松果茶社也来了。银杏书店很好,银杏书店!松果茶社送花。", "银杏书店", "松果茶社", "开业"
    )
    assert title_of(pairs) == "银杏书店开业"
    assert contexts(pairs) == [
        "[银杏书店]很好,银杏书店!",  # the title does not count where the content names it
        "银杏书店[开业]",  # only the title names it
        "[松果茶社]也来了。|[松果茶社]送花。",
    ]


def test_without_a_title_the_first_sentence_stands_for_it() -> None:
    pairs = pairs_of("", " \n。银杏开花。松果落地。", "松果", max_title_tokens=3)
    assert title_of(pairs) == "。"
    assert title_of(pairs_of(" ", "银杏开花。松果落地。", "松果", max_title_tokens=3)) == "银杏开"
    assert title_of(pairs_of("银杏开花了", "松果", "松果", max_title_tokens=2)) == "银杏"


def test_without_content_the_title_is_the_context() -> None:
    pairs = pairs_of("银杏开花", "", "银杏")
    assert (title_of(pairs), contexts(pairs)) == ("银杏开花", ["[银杏]开花"])


def test_sentences_are_cut_around_the_first_mention() -> None:
    content = "一二三四五六银杏七八九十一二。甲乙丙丁银杏戊己庚辛。银杏"
    pairs = pairs_of("", content, "银杏", max_sentence_tokens=6, max_context_tokens=10)
    assert contexts(pairs) == ["五六[银杏]七八|丁[银杏]戊"]


def test_a_name_longer_than_the_limit_is_cut_at_its_end() -> None:
    pairs = pairs_of("", "这是银杏书店分店。", "银杏书店分店", max_sentence_tokens=4, max_context_tokens=4)
    assert contexts(pairs) == ["[银杏书店]"]


def test_words_are_marked_whole() -> None:
    pairs = pairs_of("", "学习c++语言很好。", "c++", "语言", tokens="word")
    assert pairs.tokens == ["学习", "c++", "语言", "很", "好", "。"]
    assert contexts(pairs) == ["学习[c++]语言很好。", "学习c++[语言]很好。"]


def test_core_entities_are_labelled_and_other_spellings_of_them_are_never_drawn() -> None:
    keys = ("《银杏》", "银杏", "松果", "开花")
    pairs = pairs_of("《银杏》开花", "松果,松果。", *keys, gold=["银杏"])
    found = dict(zip(["《银杏》", "银杏", "开花", "松果"], zip(pairs.is_core, pairs.weights, strict=True), strict=True))
    assert found == {"《银杏》": (False, 0), "银杏": (True, 0), "开花": (False, 2), "松果": (False, 2)}
    assert not pairs_of("银杏", "松果", "银杏", "松果").is_core.any()


@given(
    title=st.text(st.sampled_from("银杏a+ 。"), max_size=8),
    content=st.text(st.sampled_from("银杏a+ 。\n!"), max_size=40),
    mode=st.sampled_from(["char", "word"]),
    limits=st.tuples(st.integers(1, 6), st.integers(1, 9)),
)
def test_pieces_lie_in_the_article_and_within_the_limits(
    title: str, content: str, mode: str, limits: tuple[int, int]
) -> None:
    sentence, whole = limits
    options = {"max_sentence_tokens": sentence, "max_context_tokens": whole, "tokens": mode}
    pairs = pairs_of(title, content, "银杏", "银", "a+", "杏。银", **options)
    n_tokens = len(pairs.tokens)
    assert 0 <= pairs.title[0] <= pairs.title[1] <= n_tokens
    for row in range(len(pairs)):
        found = pairs.context(row)
        assert found
        assert all(0 <= start <= first < last <= stop <= n_tokens for start, first, last, stop in found)
        assert all(stop - start <= sentence for start, _, _, stop in found)
        assert sum(stop - start for start, _, _, stop in found) <= whole


ARTICLES = [
    pairs_of("甲乙", "甲乙子丑。寅卯子,辰巳。", "甲乙", "子", "寅卯", "辰巳", gold=["甲乙"], news_id="a1"),
    pairs_of("丙丁", "午未。申酉丙丁。戌亥", "丙丁", "午未", "申酉", "戌亥", gold=["丙丁", "申酉"], news_id="a2"),
]
VOCABULARY = Vocabulary.of_tokens((token for article in ARTICLES for token in article.tokens), min_count=1)
READER = TokenReader(VOCABULARY)


def training_pairs(seed: int = 1, n_negatives: int = 2, batch_size: int = 3) -> TrainingPairs:
    return TrainingPairs(ARTICLES, READER, n_negatives=n_negatives, batch_size=batch_size, seed=seed)


def read(ids: Sequence[int]) -> str:
    forms = {number: form for form, number in zip(VOCABULARY.tokens, range(2, 1000), strict=False)}
    return "".join({len(VOCABULARY): "[", len(VOCABULARY) + 1: "]"}.get(number) or forms[number] for number in ids)


def drawn(pairs: TrainingPairs, epoch: int = 0) -> list[tuple[str, str, float]]:
    rows = []
    for batch in pairs.epoch(epoch):
        assert batch.labels is not None
        for row in range(len(batch)):
            sides = [read(side.tokens[row][side.mask[row]].tolist()) for side in (batch.left, batch.right)]
            rows.append((sides[0], sides[1], batch.labels[row].item()))
    return rows


def test_pairs_never_span_two_articles() -> None:
    for epoch in range(5):
        found = drawn(training_pairs(), epoch)
        for title, context, _ in found:
            [article] = [article for article in ARTICLES if title_of(article) == title]
            assert context in [text.replace("|", "") for text in contexts(article)]
        assert {title for title, _, _ in found} == {"甲乙", "丙丁"}


def test_every_core_entity_and_so_many_others_are_drawn() -> None:
    pairs = training_pairs()
    found = drawn(pairs)
    assert sorted(label for *_, label in found) == [0.0] * 4 + [1.0] * 3  # of the second article only two are left
    assert len(list(pairs.epoch(0))) == len(pairs) == 3
    assert len(set(found)) == len(found)
    assert drawn(pairs) == found
    assert drawn(training_pairs()) == found
    assert sorted(drawn(pairs, 1)) != sorted(found) or sorted(drawn(pairs, 2)) != sorted(found)


def test_candidates_that_are_named_more_often_are_drawn_more_often() -> None:
    pairs = training_pairs(n_negatives=1)
    rng = np.random.default_rng(0)
    rows = [row for _ in range(300) for index, row, core in pairs.sample(rng) if index == 0 and not core]
    counts = np.bincount(rows, minlength=4)
    assert counts[0] == 0
    assert counts[1] > 1.4 * counts[2:].max()  # drawn with chances 2 : 1 : 1
    assert counts[2:].min() > 40


@pytest.mark.parametrize("batch_size", [2, 100])
def test_prediction_covers_every_candidate_once(batch_size: int) -> None:
    encoded = EncodedArticle(ARTICLES[0], READER)
    found: dict[int, str] = {}
    for rows, batch in article_batches(encoded, batch_size=batch_size):
        for place, row in enumerate(rows.tolist()):
            found[row] = read(batch.right.tokens[place][batch.right.mask[place]].tolist())
            assert read(batch.left.tokens[place][batch.left.mask[place]].tolist()) == "甲乙"
    assert [found[row] for row in range(4)] == [text.replace("|", "") for text in contexts(ARTICLES[0])]


def test_an_article_without_candidates_has_no_batch() -> None:
    assert list(article_batches(EncodedArticle(pairs_of("甲", "乙"), READER), batch_size=2)) == []
