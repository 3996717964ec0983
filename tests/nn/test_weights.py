"""Weights of networks: written and read alike, and what does not fit is named in one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

from pipeline.errors import ArtifactError
from pipeline.nn.weights import MAX_REASON, WEIGHTS, load_weights, save_weights


def network(hidden: int = 4) -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, hidden), nn.Dropout(0.5), nn.BatchNorm1d(hidden), nn.Linear(hidden, 2))


def test_what_is_read_predicts_like_what_was_written(tmp_path: Path) -> None:
    written, read = network(), network()
    inputs = torch.randn(5, 3)
    written(inputs)  # moves the running mean, a buffer
    save_weights(written, tmp_path)
    load_weights(read, tmp_path)
    assert not any(module.training for module in read.modules())
    assert torch.equal(read(inputs), written.eval()(inputs))


def test_weights_that_were_read_before_are_not_read_again(tmp_path: Path) -> None:
    given, read = network(), network()
    load_weights(read, tmp_path, weights=given.state_dict())
    assert all(torch.equal(given.state_dict()[name], value) for name, value in read.state_dict().items())


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda path: path.unlink(), id="missing"),
        pytest.param(lambda path: path.write_bytes(b""), id="empty"),
        pytest.param(lambda path: path.write_bytes(path.read_bytes()[:-4]), id="cut off"),
        pytest.param(lambda path: save_weights(network(hidden=400), path.parent), id="other sizes"),
        pytest.param(lambda path: save_weights(nn.Linear(3, 4), path.parent), id="other names"),
    ],
)
def test_what_does_not_fit_is_named_in_one_bounded_line(tmp_path: Path, spoil: Callable[[Path], object]) -> None:
    save_weights(network(), tmp_path)
    spoil(tmp_path / WEIGHTS)
    with pytest.raises(ArtifactError, match=r"model\.safetensors: does not fit the head x \(") as caught:
        load_weights(network(), tmp_path, kind="head x")
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < len(str(tmp_path)) + MAX_REASON + 60
