from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from torch import nn

from pipeline.nn.encoders.state_cache import StateCache, weights_hash


def network(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Linear(3, 2)


def ids(*tokens: int) -> torch.Tensor:
    return torch.tensor([tokens])


def test_key_depends_on_everything_that_changes_the_states(tmp_path: Path) -> None:
    cache = StateCache(tmp_path, network())
    keys = {
        cache.key(ids(2, 5, 3), ids(0, 0, 0)),
        cache.key(ids(2, 5, 3), ids(0, 0, 1)),
        cache.key(ids(2, 6, 3), ids(0, 0, 0)),
        cache.key(ids(2, 5), ids(3, 0)),
        StateCache(tmp_path, network(1)).key(ids(2, 5, 3), ids(0, 0, 0)),
        StateCache(tmp_path, network(), variant="bf16").key(ids(2, 5, 3), ids(0, 0, 0)),
    }
    assert len(keys) == 6
    assert StateCache(tmp_path / "other", network()).key(ids(2, 5, 3), ids(0, 0, 0)) in keys


def test_states_are_made_once_and_rounded_from_the_start(tmp_path: Path) -> None:
    cache = StateCache(tmp_path, network())
    calls = []

    def make() -> torch.Tensor:
        calls.append(1)
        return torch.full((2, 3), 1 / 3)

    made = cache.get_or_make("ab12", make)
    kept = cache.get_or_make("ab12", make)
    assert calls == [1]
    assert torch.equal(made, kept)
    assert torch.equal(made, torch.full((2, 3), 1 / 3).half().float())


def test_writers_at_the_same_time_leave_one_whole_file(tmp_path: Path) -> None:
    cache = StateCache(tmp_path, network())
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda i: cache.get_or_make(f"ab{i % 3}", lambda: torch.ones(400, 50)), range(48)))
    assert all(torch.equal(states, torch.ones(400, 50)) for states in found)
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == [f"{i}.safetensors" for i in range(3)]


def test_hash_is_of_names_and_weights() -> None:
    same, other = network(), network()
    assert weights_hash(same) == weights_hash(other)
    with torch.no_grad():
        other.bias[0] += 1e-6
    assert weights_hash(same) != weights_hash(other)
    assert weights_hash(nn.Sequential(same)) != weights_hash(same)
