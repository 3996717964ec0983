"""Options whose values had other names before."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.config import config_from_dict, load_config
from pipeline.errors import ConfigError

OLD = pytest.mark.parametrize(("old", "today"), [("true", "layer"), ("false", "none"), ("no", "none")])


@OLD
def test_old_values_are_read_from_overrides_and_files(old: str, today: str, tmp_path: Path) -> None:
    assert load_config(overrides=[f"head.af_normalise={old}"]).head.af_normalise == today
    path = tmp_path / "options.yaml"
    path.write_text(f"head:\n  af_normalise: {old}\n", encoding="utf-8")
    assert load_config(file=path).head.af_normalise == today


@pytest.mark.parametrize(("old", "today"), [(True, "layer"), (False, "none"), ("batch", "batch")])
def test_a_run_keeps_what_it_was_trained_with(old: object, today: str) -> None:
    assert config_from_dict({"head": {"af_normalise": old}}).head.af_normalise == today


def test_a_run_that_is_older_than_the_options_of_heads_has_the_networks_of_then() -> None:
    head = config_from_dict({"head": {"hidden_dim": 9}}).head
    assert (head.af_normalise, head.cell, head.recurrent_layers, head.directions) == ("layer", "lstm", 1, "auto")
    assert (head.td_states, head.aspect, head.at_attention) == ("concatenation", "mean", "added")
    assert head.sentences == "fixed"


def test_other_words_are_refused() -> None:
    with pytest.raises(ConfigError, match="af_normalise"):
        load_config(overrides=["head.af_normalise=group"])
