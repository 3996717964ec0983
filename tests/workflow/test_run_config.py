"""The configuration that a run keeps: a round trip, and runs that are older than an option."""

from __future__ import annotations

from pathlib import Path

import pytest
from omegaconf import OmegaConf

from pipeline.config import Config, load_config
from pipeline.errors import ArtifactError
from pipeline.workflow.run_config import load_run_config, save_run_config


@pytest.mark.parametrize("preset", ["cpu", "fast", "tiny"])
def test_every_option_survives_a_round_trip(tmp_path: Path, preset: str) -> None:
    config = load_config(preset=preset, overrides=["seed=11", "rerank.num_leaves=9"])
    save_run_config(tmp_path / "config.yaml", config)
    assert load_run_config(tmp_path / "config.yaml") == config


def test_a_run_that_is_older_than_an_option_keeps_what_was_done_then(tmp_path: Path) -> None:
    """Today's defaults would look for a tagger and for second trees, or read less of an article without a word."""
    path = tmp_path / "config.yaml"
    save_run_config(path, load_config(preset="fast"))
    stored = OmegaConf.load(path)
    del stored["tagger"], stored["rerank"]["n_bags"]
    path.write_text(OmegaConf.to_yaml(stored), encoding="utf-8")
    config = load_run_config(path)
    assert (config.tagger.name, config.tagger.predict_chars, config.rerank.n_bags) == ("none", 0, 1)
    assert Config().tagger.name != "none"


def test_an_unknown_option_names_the_file_and_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("rerank:\n  n_trees: 5\n", encoding="utf-8")
    with pytest.raises(ArtifactError, match=r"config\.yaml: .*n_trees") as caught:
        load_run_config(path)
    assert caught.value.hint == "train the run again"
