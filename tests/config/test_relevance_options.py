"""Options of the matchers: combinations that no matcher could follow are refused in one line."""

from __future__ import annotations

import pytest

from pipeline.config import RelevanceConfig, config_from_dict, load_config, presets
from pipeline.errors import ConfigError

REFUSED = {
    "options of another": (
        ["relevance.name=soft_align", "relevance.malstm.similarity=cosine", "relevance.malstm.tied=false"],
        "relevance.malstm.similarity, tied: options of malstm, but relevance.name is soft_align",
    ),
    "the other way": (
        ["relevance.name=malstm", "relevance.soft_align.pooling=sum"],
        "relevance.soft_align.pooling: options of soft_align",
    ),
    "no encodings": (["relevance.name=soft_align", "relevance.loss=contrastive_distance"], "needs two encodings"),
    "no distance": (
        ["relevance.name=malstm", "relevance.malstm.similarity=linear", "relevance.loss=contrastive_distance"],
        "needs two encodings with a distance",
    ),
    "margin beyond reach": (
        ["relevance.malstm.similarity=cosine", "relevance.loss=contrastive_distance", "relevance.margin=2.5"],
        r"relevance.margin 2.5 is never reached: the distance 1 - cosine is 2 at most",
    ),
    "three layers": (["relevance.malstm.n_layers=3"], r"relevance.malstm.n_layers must lie between 1 and 2, got 3"),
    "unknown similarity": (["relevance.malstm.similarity=dot"], "relevance.malstm.similarity"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_followed_is_refused(name: str) -> None:
    overrides, message = REFUSED[name]
    with pytest.raises(ConfigError, match=message) as caught:
        load_config(overrides=overrides)
    assert "\n" not in caught.value.message


def test_the_losses_of_distances_are_taken_where_there_is_one() -> None:
    for similarity in ("exp_l1", "euclidean", "cosine"):
        overrides = [f"relevance.malstm.similarity={similarity}", "relevance.loss=contrastive_distance"]
        assert load_config(overrides=[*overrides, "relevance.name=malstm"]).relevance.is_on


def test_options_of_an_earlier_run_get_the_defaults() -> None:
    assert config_from_dict({"relevance": {"name": "malstm"}}).relevance == RelevanceConfig(name="malstm")


@pytest.mark.parametrize("name", presets())
def test_no_preset_says_how_matchers_are_trained(name: str) -> None:
    """``match train`` puts its own number of epochs above a preset's."""
    assert load_config(preset=name).relevance.training == RelevanceConfig().training
