"""From article to feature matrix: the list of columns, honesty about folds, and what is written to a run."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.config import CandidateConfig
from pipeline.entities.candidates import CandidateSet, Source
from pipeline.entities.features import ArticleFeatures, Extractor, FeatureTable, FoldedKeyCounts, KeyCounts
from pipeline.entities.features.extract import ALL, gold_keys, load_counts, save_counts, static_features, with_fitted
from pipeline.entities.features.groups import GROUPS
from pipeline.entities.pruning import COLUMNS, Pruner
from pipeline.errors import ArtifactError
from pipeline.schema import Article, Emotion, Entity
from pipeline.text import default_segmenter
from pipeline.text.spans import ScoredSpan
from tests.support.paths import GOLDEN

SEGMENTER = default_segmenter()
GOLDEN_FEATURES = GOLDEN / "features.json"
PRUNERS = {name: Pruner(np.arange(len(COLUMNS)) * weight) for name, weight in ((ALL, 0.0), ("0", 1.0), ("1", -1.0))}
COUNTS = KeyCounts(9, 40, 8, {"松果": (4, 3), "松果手机": (2, 2)})


def extractor(**options: int) -> Extractor:
    return Extractor(
        CandidateConfig(**options),
        segmenter=SEGMENTER,
        dictionary=["松果手机", "云杉"],
        gold_names={"果手": [0], "杉研": [1], "机发": [0, 1]},
        pruners=PRUNERS,
    )


def described(
    extractor: Extractor, article: Article, fold: int | None = None, spans: Sequence[ScoredSpan] | None = None
) -> ArticleFeatures:
    """Return the candidates that are left after pruning, with the columns that need no other article."""
    return static_features(extractor.pruned(article, fold, spans), extractor.segmenter)


def full(features: ArticleFeatures) -> tuple[list[str], np.ndarray]:
    return with_fitted(features.names, features.matrix, features.candidates.keys, COUNTS, 5.0)


ARTICLE = Article("a1", "松果手机发布", "松果手机今天发布。《云杉》是云杉研究所的Nova 2,松果手机很好。", truncated=True)
EXTREMES = [
    Article("empty", "", ""),
    Article("one", "松", ""),
    Article("two", "", "。"),
    Article("emoji", "😀", "👨\u200d👩\u200d👧😀"),
    Article("latin", "Only Latin", "here, NOVA 2 and nothing else."),
    Article("blanks", "\u3000\n", "\u200b <br/> &nbsp;"),
    Article("surrogate", "\ud800松果", "\udfff"),
    Article("long", "", "松果云杉海棠发布的新手机" * 1700),
]


def test_names_of_columns_are_the_golden_list(request: pytest.FixtureRequest) -> None:
    names = full(described(extractor(), ARTICLE))[0]
    if request.config.getoption("--update-golden", default=False):
        GOLDEN_FEATURES.write_text(json.dumps(names, indent=2) + "\n", encoding="utf-8")
    assert names == json.loads(GOLDEN_FEATURES.read_text(encoding="utf-8"))
    assert len(set(names)) == len(names)
    groups = [group.__name__ for group in GROUPS if group.__name__ != "tagger"]
    assert list(dict.fromkeys(name.split(".")[0] for name in names)) == [*groups, "idf", "hit_rate"]


def test_a_tagger_adds_columns_between_the_others() -> None:
    names = full(described(extractor(), ARTICLE))[0]
    spans = [ScoredSpan(0, 4, 0.75), ScoredSpan(0, 2, 0.5)]
    tagged = full(described(extractor(), ARTICLE, spans=spans))[0]
    at = names.index("idf.idf")
    added = tagged[at : len(tagged) - len(names) + at]
    assert tagged == [*names[:at], *added, *names[at:]]
    assert added
    assert all(name.startswith("tagger.") for name in added)
    assert full(described(extractor(), ARTICLE, spans=[]))[0] == tagged


@pytest.mark.parametrize("article", EXTREMES, ids=lambda article: article.news_id)
def test_extreme_articles(article: Article) -> None:
    features = described(extractor(), article)
    names, matrix = full(features)
    assert names == full(described(extractor(), ARTICLE))[0]
    assert matrix.shape == (len(features.candidates), len(names))
    assert matrix.dtype == np.float32
    assert not np.isinf(matrix).any()


raw_fields = st.lists(
    st.sampled_from([*"松果的，。\n 《》“”a1", "松果手机", "Nova 2", "&amp;", "…", "\ud800", "😀"])
    | st.text(max_size=3),
    max_size=15,
).map("".join)


@settings(max_examples=40)
@given(raw_fields, raw_fields)
def test_columns_do_not_depend_on_the_article_and_are_never_infinite(title: str, content: str) -> None:
    features = described(extractor(), Article("1", title, content))
    names, matrix = full(features)
    assert names == full(described(extractor(), ARTICLE))[0]
    assert matrix.shape == (len(features.candidates), len(names))
    assert not np.isinf(matrix).any()
    may_be_missing = {"title.title_position", "positions.first_content", "shape.suffix"}
    missing = {name for name, column in zip(names, matrix.T, strict=True) if np.isnan(column).any()}
    assert missing <= may_be_missing


def test_with_fitted_appends_without_touching_the_static_columns() -> None:
    features = described(extractor(), ARTICLE)
    names, matrix = full(features)
    n_static = len(features.names)
    assert names[:n_static] == features.names
    np.testing.assert_array_equal(matrix[:, :n_static], features.matrix)
    row, tf = features.candidates.keys.index("松果手机"), 3
    fitted = dict(zip(names[n_static:], matrix[row, n_static:].tolist(), strict=True))
    assert features.candidates.counts[row] == tf
    assert fitted["idf.idf"] == pytest.approx(np.log(10 / 3), rel=1e-6)
    assert fitted["idf.tf_idf"] == pytest.approx(tf * np.log(10 / 3), rel=1e-6)
    assert fitted["hit_rate.n_offered"] == fitted["hit_rate.n_gold"] == 2
    assert fitted["hit_rate.hit_rate"] == pytest.approx(3 / 7, rel=1e-6)


# --- folds


def gold_of(found: CandidateSet) -> set[str]:
    return {key for key, bits in zip(found.keys, found.sources.tolist(), strict=True) if bits & Source.GOLD}


@pytest.mark.parametrize(
    ("fold", "expected"),
    [(None, {"果手", "杉研", "机发"}), (0, {"杉研", "机发"}), (1, {"果手", "机发"}), (2, {"果手", "杉研", "机发"})],
)
def test_gold_names_of_the_own_fold_are_not_offered(fold: int | None, expected: set[str]) -> None:
    article = Article("a1", "松果手机发布", "云杉研究所的松果手机发布")
    assert gold_of(extractor().candidates(article, fold)) == expected
    assert gold_of(extractor(max_words=1).candidates(article, fold)) == expected


def test_each_fold_is_pruned_by_its_own_pruner() -> None:
    kept = {fold: described(extractor(max_candidates=3), ARTICLE, fold).candidates.keys for fold in (None, 0, 1)}
    for fold, name in ((None, ALL), (0, "0"), (1, "1")):
        offered = extractor().candidates(ARTICLE, fold)
        assert kept[fold] == PRUNERS[name].keep(offered, SEGMENTER, 3).keys
    assert len(set(map(tuple, kept.values()))) == 3


def test_extract_describes_what_is_left_after_pruning() -> None:
    features = described(extractor(max_candidates=4), ARTICLE)
    again = static_features(features.candidates, SEGMENTER)
    assert len(features.candidates) == 4
    np.testing.assert_array_equal(features.matrix, again.matrix)
    assert set(features.matrix[:, features.names.index("document.n_candidates")]) == {4.0}


def test_gold_keys_are_normalised_and_never_empty() -> None:
    names = [" ＮＯＶＡ 2", "《松果》", "\u200b", "nova 2"]
    article = Article("1", "", "", tuple(Entity(name, Emotion.POS) for name in names))
    assert gold_keys(article) == {"nova 2", "《松果》"}
    assert gold_keys(Article("1", "", "")) == set()


# --- the table


def test_select_takes_articles_in_the_given_order() -> None:
    table = FeatureTable(
        names=["x"],
        news_ids=["a", "b", "c"],
        keys=[["甲"], ["乙"], []],
        firsts=[np.array([index]) for index in range(3)],
        matrices=[np.full((1, 1), index) for index in range(3)],
        labels=[np.array([index]) for index in range(3)],
        n_gold=[5, 6, 7],
    )
    chosen = table.select([2, 0])
    assert (chosen.names, chosen.news_ids, chosen.keys, chosen.n_gold) == (["x"], ["c", "a"], [[], ["甲"]], [7, 5])
    assert [int(label[0]) for label in chosen.labels] == [2, 0]
    assert [int(first[0]) for first in chosen.firsts] == [2, 0]
    assert [int(matrix[0, 0]) for matrix in chosen.matrices] == [2, 0]
    assert table.select(iter([])).news_ids == []


# --- files


def test_save_and_load_extract_the_same(tmp_path: Path) -> None:
    ours = extractor(max_candidates=6)
    ours.save(tmp_path)
    again = Extractor.load(tmp_path)
    assert again.config == ours.config
    rng = random.Random(0)
    pieces = ["松果手机", "云杉", "研究所", "发布", "的", "。", "\n", "《", "》", "Nova 2", "，", "很好"]
    articles = [ARTICLE, *EXTREMES[:-1]]
    articles += [
        Article(str(index), "".join(rng.choices(pieces, k=6)), "".join(rng.choices(pieces, k=40))) for index in range(8)
    ]
    for article in articles:
        for fold in (None, 0, 1):
            left, right = (static_features(of.pruned(article, fold), of.segmenter) for of in (ours, again))
            assert left.candidates.keys == right.candidates.keys
            assert left.names == right.names
            np.testing.assert_array_equal(left.matrix, right.matrix)


def test_saving_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        extractor().save(tmp_path / name)
        save_counts(tmp_path / name, COUNTS)
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == ["dictionary.txt.gz", "gold_names.json", "key_counts.json.gz", "pruners.json", "settings.json"]
    assert all((tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes() for name in names)


def test_another_segmentation_is_refused(tmp_path: Path) -> None:
    extractor().save(tmp_path)
    path = tmp_path / "settings.json"
    path.write_text(path.read_text().replace(SEGMENTER.name, "jieba-0.1"))
    with pytest.raises(ArtifactError, match=rf"trained with jieba-0\.1, this machine has {SEGMENTER.name}"):
        Extractor.load(tmp_path)


@pytest.mark.parametrize("name", ["settings.json", "gold_names.json", "pruners.json", "dictionary.txt.gz"])
def test_missing_files_are_named(tmp_path: Path, name: str) -> None:
    extractor().save(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(ArtifactError, match=rf"{name}: cannot be read"):
        Extractor.load(tmp_path)


def damaged(content: bytes) -> list[bytes]:
    whole = gzip.compress(content)
    return [b"", b"plain", whole[:-9], whole[:12] + bytes(255 - byte for byte in whole[12:20]) + whole[20:]]


@pytest.mark.parametrize("content", damaged("松果手机\n".encode() * 20)[1:])
def test_a_damaged_dictionary_is_refused(tmp_path: Path, content: bytes) -> None:
    extractor().save(tmp_path)
    (tmp_path / "dictionary.txt.gz").write_bytes(content)
    with pytest.raises(ArtifactError, match=r"dictionary\.txt\.gz: cannot be read"):
        Extractor.load(tmp_path)


def test_counts_round_trip(tmp_path: Path) -> None:
    counted = FoldedKeyCounts()
    counted.add(0, ["松果", "\ufffd", 'a"b'], ["松果"])
    counted.add(1, ["松果", 'a"b'], [])
    save_counts(tmp_path, counted.without(None))
    assert load_counts(tmp_path) == counted.without(None)


@pytest.mark.parametrize("content", [*damaged(b'{"table": {}}' * 20), gzip.compress(b"{"), gzip.compress(b"\xff")])
def test_damaged_counts_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "key_counts.json.gz").write_bytes(content)
    with pytest.raises(ArtifactError, match=r"key_counts\.json\.gz: cannot be read"):
        load_counts(tmp_path)
