"""The space of a search for options: the one built in, and those of a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.config import Config, load_config
from pipeline.errors import ConfigError
from pipeline.workflow.tune.space import BUILT_IN, Choices, Range, make_space, read_space, to_plain


def test_the_space_built_in_is_one_that_a_file_may_hold(tmp_path: Path) -> None:
    space = make_space(BUILT_IN, Config())
    (tmp_path / "space.yaml").write_text(json.dumps(to_plain(space)))
    assert read_space(tmp_path / "space.yaml", Config()) == space
    assert {type(part) for part in space.values()} == {Range, Choices}


def test_ranges_are_widened_to_the_options_of_the_run() -> None:
    config = load_config(preset="tiny", overrides=["rerank.reg_lambda=0"])
    space = make_space(BUILT_IN, config)
    assert space["rerank.n_estimators"] == Range(40, 800, True)
    assert space["rerank.reg_lambda"] == Range(0.0, 100.0, False)
    wider = make_space({"rerank.max_entities": {"choices": [1, 2]}}, config)
    assert wider["rerank.max_entities"] == Choices((3, 1, 2))


@pytest.mark.parametrize(
    ("content", "piece"),
    [
        ("[1, 2]", "want options to search"),
        ("", "want options to search"),
        ("rerank.num_leaves: {low: 4", "not readable as YAML or JSON"),
        ("rerank.hit_rate_smoothing: {low: 1, high: 9}", "rerank.hit_rate_smoothing: .* changes the features"),
        ("candidates.max_words: {low: 1, high: 9}", "candidates.max_words: .* is none of those"),
        ("rerank: {num_leaves: {low: 4, high: 31}}", "rerank: the search changes"),
        ("rerank.num_leaves: 31", "rerank.num_leaves: want low and high"),
        ("rerank.num_leaves: {low: 4, hihg: 31}", "want low and high"),
        ("rerank.num_leaves: {low: 4.5, high: 31}", "numbers like 15"),
        ("rerank.num_leaves: {low: 31, high: 4}", "low must lie below high"),
        ("rerank.reg_lambda: {low: 0, high: 4, log: true}", "and above 0"),
        ("rerank.reg_lambda: {low: .nan, high: 4}", "numbers like 5.0"),
        ("rerank.objective: {low: 1, high: 4}", "numbers like 'binary'"),
        ("rerank.objective: {choices: [binary]}", "two or more different choices"),
        ("rerank.objective: {choices: [binary, 3]}", "choices like 'binary'"),
        ("rerank.objective: {choices: [binary, softmax]}", "rerank.objective"),
        ("rerank.num_leaves: {low: 1, high: 9}", "rerank.num_leaves must lie between 2 and 4096, got 1"),
    ],
)
def test_a_space_that_cannot_be_searched(tmp_path: Path, content: str, piece: str) -> None:
    path = tmp_path / "space.yaml"
    path.write_text(content)
    with pytest.raises(ConfigError, match=piece) as found:
        read_space(path, Config())
    assert found.value.message.startswith(f"{path}: ")
