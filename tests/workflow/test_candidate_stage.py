"""The first stage of a training: what is fitted, and that an article's own fold never describes it."""

from __future__ import annotations

import gzip
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.config import CandidateConfig, Config, load_config
from pipeline.entities.features import Extractor, FeatureTable, KeyCounts
from pipeline.entities.features.extract import static_features
from pipeline.entities.pruning import COLUMNS, Pruner
from pipeline.errors import DataError
from pipeline.schema import Article, Emotion, Entity
from pipeline.workflow import candidate_stage
from pipeline.workflow.candidate_stage import build_table, dictionary_path, fit_extractor

BASE = ("workers=1", "candidates.dictionary=", "candidates.max_candidates=5000")
NAMES = ["松果手机", "云杉研究所", "海棠汽车", "Nova 2", "桦林"]
FILLERS = [
    "今天发布新品。",
    "很多消费者表示满意,",
    "价格上涨了。",
    "记者从现场了解到,",
    "这条路通向公园。",
    "公司负责人说,",
]


def config(*overrides: str) -> Config:
    return load_config(preset="tiny", overrides=[*BASE, *overrides])


def gold(*names: str) -> tuple[Entity, ...]:
    return tuple(Entity(name, Emotion.POS) for name in names)


def make_articles(n: int) -> list[Article]:
    """Each names one core entity in the title and three times in the content, and another one once."""
    rng = random.Random(0)
    articles = []
    for index in range(n):
        core, other = rng.sample(NAMES, 2)
        parts = [*rng.sample(FILLERS, 4), f"{core}受欢迎。", f"{core}销量好。", f"“{core}”来了。", f"与{other}不同。"]
        rng.shuffle(parts)
        articles.append(Article(f"a{index:02}", f"{core}今日发布", "".join(parts), gold(core)))
    return articles


ARTICLES = make_articles(12)
FOLDS = {article.news_id: index % 3 for index, article in enumerate(ARTICLES)}
Described = tuple[FeatureTable, KeyCounts, Extractor]


def describe(articles: list[Article], folds: Mapping[str, int], options: Config, folder: Path) -> Described:
    extractor = fit_extractor(articles, folds, options, folder)
    return *build_table(articles, folds, options, folder, store=folder / "features"), extractor


def value(table: FeatureTable, news_id: str, key: str, column: str) -> float:
    index = table.news_ids.index(news_id)
    return float(table.matrices[index][table.keys[index].index(key), table.names.index(column)])


# --- dictionary


def test_the_default_dictionary_is_used_only_where_it_exists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    default = CandidateConfig()
    assert dictionary_path(default) is None
    (tmp_path / "data").mkdir()
    packed = tmp_path / f"{default.dictionary}.gz"
    packed.write_bytes(gzip.compress("松果\n".encode()))
    assert dictionary_path(default) == Path(f"{default.dictionary}.gz")
    (tmp_path / default.dictionary).write_text("云杉\n", encoding="utf-8")
    assert dictionary_path(default) == Path(default.dictionary)
    assert dictionary_path(replace(default, dictionary="")) is None


def test_a_dictionary_that_was_asked_for_must_exist(tmp_path: Path) -> None:
    options = config(f"candidates.dictionary={tmp_path / 'none.txt'}")
    with pytest.raises(DataError, match=r"none\.txt: no such dictionary file"):
        fit_extractor(ARTICLES, FOLDS, options, tmp_path / "run")


def test_dictionary_names_are_offered(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_text("品。\n者表示\n", encoding="utf-8")
    table, _, extractor = describe(ARTICLES, FOLDS, config(f"candidates.dictionary={path}"), tmp_path / "run")
    assert extractor.dictionary == ["品。", "者表示"]
    column = table.names.index("sources.from_dictionary")
    offered = {
        key
        for keys, matrix in zip(table.keys, table.matrices, strict=True)
        for key, flag in zip(keys, matrix[:, column], strict=True)
        if flag
    }
    assert offered <= {"品。", "者表示"}
    assert "者表示" in offered


# --- what is fitted


def test_gold_names_are_kept_with_their_folds(tmp_path: Path) -> None:
    extractor = fit_extractor(ARTICLES, FOLDS, config(), tmp_path)
    expected: dict[str, set[int]] = {}
    for article in ARTICLES:
        for entity in article.entities or ():
            expected.setdefault(entity.name.lower(), set()).add(FOLDS[article.news_id])
    assert extractor.gold_names == {name: sorted(folds) for name, folds in expected.items()}
    assert list(extractor.gold_names) == sorted(extractor.gold_names)
    assert extractor.pruners.keys() == {"all", "0", "1", "2"}
    assert Extractor.load(tmp_path).gold_names == extractor.gold_names


def test_gold_names_can_be_left_out(tmp_path: Path) -> None:
    table, _, extractor = describe(ARTICLES, FOLDS, config("candidates.use_gold_names=false"), tmp_path)
    assert extractor.gold_names == {}
    assert not any(matrix[:, table.names.index("sources.from_gold")].any() for matrix in table.matrices)


def test_the_table_worked_out_again(tmp_path: Path) -> None:
    unseen = replace(ARTICLES[0], entities=gold("松果手机", "不在文中"))
    articles = [unseen, *ARTICLES[1:]]
    table, counts, extractor = describe(articles, FOLDS, config(), tmp_path)
    assert table.news_ids == [article.news_id for article in articles]
    assert table.n_gold == [2] + [1] * 11
    for index, article in enumerate(articles):
        names = {entity.name.lower() for entity in article.entities or ()}
        features = static_features(extractor.pruned(article, FOLDS[article.news_id]), extractor.segmenter)
        assert table.keys[index] == features.candidates.keys
        assert table.firsts[index].tolist() == features.candidates.firsts.tolist()
        assert table.labels[index].tolist() == [key in names for key in table.keys[index]]
        assert table.names[: len(features.names)] == features.names
        np.testing.assert_array_equal(table.matrices[index][:, : len(features.names)], features.matrix)
        assert table.matrices[index].shape == (len(table.keys[index]), len(table.names))
        assert not np.isinf(table.matrices[index]).any()
    assert counts.n_articles == 12
    assert counts.n_offered == sum(len(offered_otherwise(table, index)) for index in range(len(table.keys)))
    assert counts.table["不在文中"] == (1, 1)


def test_candidates_are_pruned_to_the_limit(tmp_path: Path) -> None:
    table, _, _ = describe(ARTICLES, FOLDS, config("candidates.max_candidates=5"), tmp_path)
    assert {len(keys) for keys in table.keys} == {5}
    found = sum(int(label.sum()) for label in table.labels)
    assert found >= 10  # of 12: the pruner has learnt what a core entity looks like


# --- honesty


@pytest.mark.parametrize("fold", [0, 1, 2])
def test_a_name_that_is_gold_in_one_fold_alone_does_not_help_that_fold(tmp_path: Path, fold: int) -> None:
    planted = "赤焰舟"
    inside = Article("in", f"{planted}今日发布", f"{planted}受欢迎。", gold(planted))
    outside = Article("out", "今日新闻", f"记者看到{planted}和公园。记者看到{planted}。", gold("桦林"))
    articles = [*ARTICLES, inside, outside]
    folds = {**FOLDS, "in": fold, "out": (fold + 1) % 3}
    table, counts, extractor = describe(articles, folds, config(), tmp_path)
    assert extractor.gold_names[planted] == [fold]
    assert counts.table[planted] == (2, 1)
    assert value(table, "in", planted, "sources.from_gold") == 0
    assert value(table, "in", planted, "hit_rate.n_gold") == 0
    assert value(table, "out", planted, "sources.from_gold") == 1
    assert value(table, "out", planted, "hit_rate.n_gold") == 1
    own = counts_without(table, folds, fold)
    assert value(table, "in", planted, "hit_rate.hit_rate") == pytest.approx(
        own.shrunk(own.lookup([planted]), 5.0)[0], rel=1e-6
    )


def counts_without(table: FeatureTable, folds: Mapping[str, int], fold: int) -> KeyCounts:
    """Count again, from the table, over the articles of the other folds; gold entities that were not offered aside."""
    seen: dict[str, tuple[int, int]] = {}
    kept = [index for index, news_id in enumerate(table.news_ids) if folds[news_id] != fold]
    totals = [0, 0]
    for index in kept:
        offered = offered_otherwise(table, index)
        gold_here = {key for key, label in zip(table.keys[index], table.labels[index].tolist(), strict=True) if label}
        totals = [totals[0] + len(offered), totals[1] + len(offered & gold_here)]
        for key in offered | gold_here:
            n_offered, n_gold = seen.get(key, (0, 0))
            seen[key] = (n_offered + 1, n_gold + (key in gold_here))
    return KeyCounts(len(kept), *totals, {key: pair for key, pair in seen.items() if pair != (1, 0)})


def offered_otherwise(table: FeatureTable, index: int) -> set[str]:
    """Return the keys of an article that something else than a gold name offers."""
    places = [
        place
        for place, name in enumerate(table.names)
        if name.startswith("sources.from_") and name != "sources.from_gold"
    ]
    others = table.matrices[index][:, places].any(axis=1)
    return {key for key, other in zip(table.keys[index], others, strict=True) if other}


def test_every_fitted_column_is_counted_over_the_other_folds(tmp_path: Path) -> None:
    table, _, _ = describe(ARTICLES, FOLDS, config(), tmp_path)
    for index, news_id in enumerate(table.news_ids):
        counts = counts_without(table, FOLDS, FOLDS[news_id])
        columns = {name: table.matrices[index][:, place] for place, name in enumerate(table.names)}
        looked_up = counts.lookup(table.keys[index])
        assert columns["hit_rate.n_offered"].tolist() == looked_up[:, 0].tolist()
        assert columns["hit_rate.n_gold"].tolist() == looked_up[:, 1].tolist()
        rates = counts.shrunk(looked_up, config().rerank.hit_rate_smoothing)
        np.testing.assert_allclose(columns["hit_rate.hit_rate"], rates, rtol=1e-6)
        idf = np.log((1 + counts.n_articles) / (1 + looked_up[:, 0]))
        np.testing.assert_allclose(columns["idf.idf"], idf, rtol=1e-6, atol=1e-7)


def relabelled(fold: int) -> list[Article]:
    return [
        replace(article, entities=gold("公园", "消费者")) if FOLDS[article.news_id] == fold else article
        for article in ARTICLES
    ]


def test_labels_of_a_fold_leave_its_own_description_as_it_is(tmp_path: Path) -> None:
    options = config("candidates.use_gold_names=false")
    before, _, pruned_before = describe(ARTICLES, FOLDS, options, tmp_path / "before")
    after, _, pruned_after = describe(relabelled(1), FOLDS, options, tmp_path / "after")
    for index, article in enumerate(ARTICLES):
        assert before.keys[index] == after.keys[index]
        same = np.array_equal(before.matrices[index], after.matrices[index], equal_nan=True)
        assert same == (FOLDS[article.news_id] == 1)
    for name in ("0", "1", "2", "all"):
        same = np.array_equal(pruned_before.pruners[name].weights, pruned_after.pruners[name].weights)
        assert same == (name == "1")


def test_gold_names_of_a_fold_do_not_reach_it_through_what_others_offer(tmp_path: Path) -> None:
    """A name is offered in other folds because it is gold in this one; such offers are not counted."""
    before, _, _ = describe(ARTICLES, FOLDS, config(), tmp_path / "before")
    after, _, _ = describe(relabelled(1), FOLDS, config(), tmp_path / "after")
    for index, article in enumerate(ARTICLES):
        if FOLDS[article.news_id] == 1:
            assert before.keys[index] == after.keys[index]
            np.testing.assert_array_equal(before.matrices[index], after.matrices[index])


def test_gold_names_of_a_fold_do_not_reach_it_through_what_others_prune(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name is kept in other folds because it is gold in this one; it is counted as if that were unknown."""
    weights = np.array([{"log_tf": 1.0, "from_gold": 9.0}.get(name, 0.0) for name in COLUMNS])
    monkeypatch.setattr(Pruner, "fit", lambda *_: Pruner(weights))
    options = config("candidates.max_candidates=12")
    before, _, _ = describe(ARTICLES, FOLDS, options, tmp_path / "before")
    after, _, _ = describe(relabelled(1), FOLDS, options, tmp_path / "after")
    own = [index for index, article in enumerate(ARTICLES) if FOLDS[article.news_id] == 1]
    assert [before.keys[index] for index in own] == [after.keys[index] for index in own]
    assert any(before.keys[index] != after.keys[index] for index in range(len(ARTICLES)) if index not in own)
    for index in own:
        np.testing.assert_array_equal(before.matrices[index], after.matrices[index])


# --- the same whatever the order and the workers


def test_order_of_articles_is_immaterial(tmp_path: Path) -> None:
    shuffled = random.Random(1).sample(ARTICLES, len(ARTICLES))
    one, counts_one, left = describe(ARTICLES, FOLDS, config("candidates.max_candidates=8"), tmp_path / "one")
    two, counts_two, right = describe(shuffled, FOLDS, config("candidates.max_candidates=8"), tmp_path / "two")
    assert counts_one == counts_two
    assert {name: p.to_dict() for name, p in left.pruners.items()} == {
        name: p.to_dict() for name, p in right.pruners.items()
    }
    for index, news_id in enumerate(one.news_ids):
        other = two.news_ids.index(news_id)
        assert one.keys[index] == two.keys[other]
        np.testing.assert_array_equal(one.matrices[index], two.matrices[other])


def test_workers_are_immaterial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidate_stage, "CHUNK_SIZE", 4)
    options = config("candidates.max_candidates=8")
    fit_extractor(ARTICLES, FOLDS, options, tmp_path)
    one, counts_one = build_table(ARTICLES, FOLDS, options, tmp_path, store=tmp_path / "one")
    two, counts_two = build_table(ARTICLES, FOLDS, replace(options, workers=2), tmp_path, store=tmp_path / "two")
    assert counts_one == counts_two
    assert (one.names, one.keys) == (two.names, two.keys)
    for left, right in zip(one.matrices, two.matrices, strict=True):
        np.testing.assert_array_equal(left, right)


def test_the_pruner_reads_a_seeded_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = fit_extractor(ARTICLES, FOLDS, config(), tmp_path / "everything")
    monkeypatch.setattr(candidate_stage, "MAX_PRUNER_ARTICLES", 6)
    one, again, other = (
        fit_extractor(articles, FOLDS, config(f"seed={seed}"), tmp_path / name).pruners["all"].weights.tolist()
        for name, seed, articles in (("one", 1, ARTICLES), ("again", 1, ARTICLES[::-1]), ("other", 2, ARTICLES))
    )
    assert one == again
    assert one != other
    assert one != everything.pruners["all"].weights.tolist()


# --- poor data


def test_an_empty_article_among_others(tmp_path: Path) -> None:
    empty = Article("zz", "", "", gold("松果手机"))
    table, _, _ = describe([*ARTICLES, empty], {**FOLDS, "zz": 0}, config(), tmp_path)
    assert (table.keys[-1], table.n_gold[-1]) == ([], 1)
    assert table.matrices[-1].shape == (0, len(table.names))
    assert (table.labels[-1].shape, table.firsts[-1].shape) == ((0,), (0,))


def test_nothing_but_empty_articles(tmp_path: Path) -> None:
    articles = [Article(f"e{index}", "", "。", gold("松果")) for index in range(3)]
    table, counts, extractor = describe(articles, {"e0": 0, "e1": 1, "e2": 2}, config(), tmp_path)
    assert table.keys == [[], [], []]
    assert not extractor.pruners["all"].weights.any()
    assert (counts.n_articles, counts.n_offered, counts.table) == (3, 0, {"松果": (3, 3)})
