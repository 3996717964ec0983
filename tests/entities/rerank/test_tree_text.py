"""Texts of LightGBM models that lead out of an array, or round in circles, are refused before LightGBM reads them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pytest

from pipeline.config import RerankConfig
from pipeline.entities.rerank.tree_text import checked_tree_text
from pipeline.entities.rerank.trees import BoostedTrees
from pipeline.errors import ArtifactError

N_FEATURES = 5
CONFIG = RerankConfig(n_estimators=4, n_bags=1, num_leaves=6, min_child_samples=2, n_hard_negatives=0)


def fitted(objective: str = "binary", *, all_gold: bool = False) -> BoostedTrees:
    draw = np.random.default_rng(0)
    matrices = [draw.normal(size=(20, N_FEATURES)).astype(np.float32) for _ in range(10)]
    matrices[0][0, 0] = np.nan
    labels = [(matrix[:, 0] > 0.5).astype(np.float32) * (not all_gold) for matrix in matrices]
    config = RerankConfig(**{**vars(CONFIG), "objective": objective})
    return BoostedTrees(config, seed=7).fit(matrices, labels, [f"f{number}" for number in range(N_FEATURES)])


@pytest.fixture(scope="module")
def text() -> str:
    return fitted().boosters_[0].model_to_string()


@pytest.mark.parametrize("objective", ["binary", "lambdarank"])
def test_what_was_saved_scores_as_before(objective: str, tmp_path: Path) -> None:
    trees = fitted(objective)
    trees.save(tmp_path)
    again = BoostedTrees.load(tmp_path, trees.config, seed=7)
    rows = np.random.default_rng(1).normal(size=(30, N_FEATURES))
    np.testing.assert_array_equal(trees.score(rows), again.score(rows))
    np.testing.assert_array_equal(trees.contributions(rows), again.contributions(rows))
    assert again.importance("split") == trees.importance("split")


def test_trees_without_a_split_are_trees(tmp_path: Path) -> None:
    trees = fitted(all_gold=True)
    trees.save(tmp_path)
    again = BoostedTrees.load(tmp_path, trees.config, seed=7)
    rows = np.zeros((3, N_FEATURES))
    np.testing.assert_array_equal(trees.score(rows), again.score(rows))


def test_what_follows_the_trees_is_not_read(text: str) -> None:
    short = checked_tree_text(text.replace("[verbosity: -1]", "[verbosity"), N_FEATURES)
    assert short.endswith("end of trees\n")
    assert lgb.Booster(model_str=short).num_trees() == 4


def array(name: str, change: Callable[[list[str]], list[str]]) -> Callable[[str], str]:
    """Change the first array of that name."""

    def damage(text: str) -> str:
        return re.sub(
            rf"(?m)^{name}=(.*)$", lambda found: f"{name}={' '.join(change(found[1].split(' ')))}", text, count=1
        )

    return damage


def first(value: str) -> Callable[[list[str]], list[str]]:
    return lambda values: [value, *values[1:]]


DAMAGES: dict[str, tuple[Callable[[str], str], str]] = {
    "empty": (lambda text: "", "no trees"),
    "no trees": (lambda text: text.split("Tree=0")[0], "no trees"),
    "feature out of range": (array("split_feature", first("900000000")), "split_feature: want 0 to 4"),
    "negative feature": (array("split_feature", first("-1")), "split_feature: want 0 to 4"),
    "child out of range": (array("left_child", first("100000")), "are no tree"),
    "leaf out of range": (array("right_child", first("-100000")), "are no tree"),
    "circle": (array("left_child", first("0")), "are no tree"),
    "leaf named twice": (array("left_child", lambda values: ["-1"] * len(values)), "are no tree"),
    "too few thresholds": (array("threshold", lambda values: values[:1]), "threshold: 1 entries"),
    "too many leaves": (array("num_leaves", first("2000000000")), "num_leaves is '2000000000'"),
    "many leaves": (array("num_leaves", first("4097")), "want 1 to 4096 leaves"),
    "leaves that are not there": (array("num_leaves", first("7")), "split_feature: 5 entries, want 6"),
    "no leaf": (array("num_leaves", first("0")), "want 1 to 4096 leaves"),
    "categories": (array("num_cat", first("3")), "splits of numbers"),
    "a split by category": (array("decision_type", first("1")), "decision_type"),
    "linear leaves": (array("is_linear", first("1")), "plain values"),
    "an endless value": (array("leaf_value", first("1e999")), "leaf_value: too large"),
    "nan": (array("leaf_value", first("nan")), "leaf_value: not a list of numbers"),
    "a number that is read otherwise": (array("left_child", first("1_0")), "left_child: not a list of numbers"),
    "digits of another script": (array("left_child", first("１")), "left_child: not a list of numbers"),
    "unknown entry": (lambda text: text.replace("num_cat=0", "num_cat=0\ncat_boundaries=0 9", 1), "cat_boundaries"),
    "repeated entry": (lambda text: text.replace("num_cat=0", "num_cat=0\nnum_cat=0", 1), "a repeated one"),
    "classes": (array("num_class", first("3")), "num_class is '3'"),
    "trees per round": (array("num_tree_per_iteration", first("9")), "num_tree_per_iteration is '9'"),
    "more features": (array("max_feature_idx", first("9")), "max_feature_idx is '9'"),
    "fewer names": (array("feature_names", lambda values: values[1:]), "feature_names: want 5 entries"),
    "odd range": (array("feature_infos", first("1:2:3")), "feature_infos is"),
    "objective": (array("objective", first("multiclass num_class:9")), "objective is 'multiclass"),
    "unknown header": (lambda text: text.replace("label_index", "monotone_constraints=1\nlabel_index"), "unknown"),
    "sizes": (array("tree_sizes", first("10")), "tree_sizes are not those"),
    "sizes that cancel out": (
        array("tree_sizes", lambda values: [str(int(values[0]) + 9), str(int(values[1]) - 9), *values[2:]]),
        "tree ",
    ),
}


def sized(text: str) -> str:
    """Let the sizes be those of the trees, as someone would who changes a tree."""
    start, end = text.find("Tree=0\n"), text.find("end of trees\n")
    parts = re.split(r"(?m)^(?=Tree=)", text[start:end])[1:]
    return array("tree_sizes", lambda values: [str(len(part.encode())) for part in parts])(text)


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_text_is_refused(text: str, tmp_path: Path, name: str) -> None:
    damage, message = DAMAGES[name]
    damaged = damage(text)
    if "sizes" not in name and "tree" not in name:
        damaged = sized(damaged)
    with pytest.raises(ValueError, match=re.escape(message)):
        checked_tree_text(damaged, N_FEATURES)
    trees = fitted()
    trees.save(tmp_path)
    (tmp_path / "model.txt").write_text(damaged, encoding="utf-8")
    with pytest.raises(ArtifactError, match=rf"model\.txt: cannot be read: .*{re.escape(message)}"):
        BoostedTrees.load(tmp_path, CONFIG, seed=7)


@pytest.mark.parametrize("names", ['{"a": 1}', "[1, 2]", "3"])
def test_names_of_features_are_a_list(tmp_path: Path, names: str) -> None:
    fitted().save(tmp_path)
    (tmp_path / "features.json").write_text(names)
    with pytest.raises(ArtifactError, match=r"features\.json: want a list of names"):
        BoostedTrees.load(tmp_path, CONFIG, seed=7)
