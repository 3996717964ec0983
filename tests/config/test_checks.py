"""Ranges of options: both ends are allowed, what lies beyond is refused by the option's full name."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from pipeline.config import Config, RerankConfig, TrainingConfig, config_from_dict, key_options, load_config
from pipeline.config.checks import RANGE, Bounds, check_ranges, option, options
from pipeline.errors import ConfigError

RANGED = {name: bounds for name, _, bounds in options(Config) if bounds}
TOGETHER = {
    "tagger.d_model": {"tagger.n_heads": 1},
    "tagger.window_tokens": {"tagger.title_tokens": 0, "tagger.overlap_tokens": 0},
    "tagger.train_window_tokens": {"tagger.title_tokens": 0},
    "tagger.title_tokens": {"tagger.window_tokens": 64},
    "tagger.overlap_tokens": {"tagger.window_tokens": 509, "tagger.title_tokens": 0},
}
"""What other options must be for an option to have each value of its range."""


def value_of(config: object, name: str) -> object:
    for part in name.split("."):
        config = getattr(config, part)
    return config


DEFAULT = Config()


def made(name: str, value: float, config: object = DEFAULT) -> object:
    """Set an option and those that must go with it, as code does: by making the dataclasses anew."""
    section, _, rest = name.partition(".")
    if section and "." in rest:
        return replace(config, **{section: made(rest, value, getattr(config, section))})  # type: ignore[type-var]
    owner = getattr(config, section) if rest else config
    given = [value] if isinstance(getattr(owner, rest or name), list) else value
    others = {key.rpartition(".")[2]: setting for key, setting in TOGETHER.get(name, {}).items()}
    changed = replace(owner, **{**others, rest or name: given})
    return replace(config, **{section: changed}) if rest else changed  # type: ignore[type-var]


def loaded(name: str, value: float) -> Config:
    """Set an option as a stored configuration does."""
    given: object = [value] if isinstance(value_of(DEFAULT, name), list) else value
    for part in reversed(name.split(".")):
        given = {part: given}
    return config_from_dict(given)  # type: ignore[arg-type]


def beyond(bounds: Bounds) -> tuple[float, float]:
    """Return the nearest whole numbers, or nearby fractions, outside a range."""
    low, high = bounds
    if isinstance(low, int):
        return low - 1, high + 1
    return low - 1e-9, high * 1.001


def test_the_ranges_were_found() -> None:
    assert len(RANGED) > 50
    assert {"seed", "rerank.num_leaves", "head.filter_sizes", "cross.encoder.training.batch_size"} <= set(RANGED)
    assert RANGED["rerank.num_leaves"] == (2, 4096)
    assert {name for name in TOGETHER if name not in RANGED} == set()


def test_every_option_is_listed_once_with_its_field() -> None:
    listed = [(name, field.name) for name, field, _ in options(Config)]
    assert all(name.rpartition(".")[2] == field for name, field in listed)
    leaves = [name for name, _ in listed]
    assert len(leaves) == len(set(leaves))
    for name in leaves:
        assert not hasattr(value_of(Config(), name), "__dataclass_fields__"), name


@pytest.mark.parametrize("name", [name for name, _, _ in options(Config)])
def test_numbers_have_a_range_and_nothing_else_has(name: str) -> None:
    value = value_of(DEFAULT, name)
    items = value if isinstance(value, list) else [value]
    is_number = bool(items) and all(isinstance(item, int | float) and not isinstance(item, bool) for item in items)
    assert (name in RANGED) == is_number


@pytest.mark.parametrize("name", RANGED)
def test_both_ends_of_a_range_are_allowed(name: str) -> None:
    for bound in RANGED[name]:
        found = value_of(made(name, bound), name)
        assert found == ([bound] if isinstance(found, list) else bound)


@pytest.mark.parametrize("name", RANGED)
def test_values_beyond_a_range_are_refused_by_name(name: str) -> None:
    low, high = RANGED[name]
    assert low <= high
    outside = [*beyond((low, high))]
    if isinstance(low, float):
        outside += [float("nan"), float("inf"), float("-inf")]
    for value in outside:
        message = re.escape(f"{name.rpartition('.')[2]} must lie between {low} and {high}, got {value}")
        with pytest.raises(ConfigError, match=rf"{message}$"):
            made(name, value)
    message = re.escape(f"{name} must lie between {low} and {high}, got {outside[-1]}")
    with pytest.raises(ConfigError, match=rf"^{message}$"):
        loaded(name, outside[-1])


def test_the_full_name_stands_in_the_message_whatever_the_source(tmp_path: Path) -> None:
    message = r"^tagger\.training\.batch_size must lie between 1 and 65536, got 0$"
    with pytest.raises(ConfigError, match=message):
        load_config(overrides=["tagger.training.batch_size=0"])
    (tmp_path / "mine.yaml").write_text("tagger:\n  training:\n    batch_size: 0\n")
    with pytest.raises(ConfigError, match=message):
        load_config(file=tmp_path / "mine.yaml")


def test_options_made_in_code_are_checked_too() -> None:
    with pytest.raises(ConfigError, match=r"^rerank\.num_leaves must lie between 2 and 4096, got 1$"):
        RerankConfig(num_leaves=1)
    with pytest.raises(ConfigError, match=r"^training\.learning_rate must lie between 1e-08 and 10\.0, got nan$"):
        TrainingConfig(learning_rate=float("nan"))
    with pytest.raises(ConfigError, match=r"^seed must lie between 0 and 2147483647, got -1$"):
        Config(seed=-1)


def test_overlap_and_title_depend_on_the_window() -> None:
    with pytest.raises(ConfigError, match=r"^tagger\.overlap_tokens must lie between 0 and 128, got 129$"):
        load_config(overrides=["tagger.overlap_tokens=129"])
    with pytest.raises(ConfigError, match=r"^tagger\.window_tokens and title_tokens are 510 together, at most 509$"):
        load_config(overrides=["tagger.window_tokens=462"])


@dataclass
class Small:
    """Two options, one of them a list."""

    share: float = option(0.5, low=0.0, high=1.0)
    sizes: list[int] = option([1, 2], low=1, high=9)  # noqa: RUF009
    name: str = "a"


@dataclass
class Grown:
    old: int = option(3, low=0, high=9)
    new: int = option(0, low=0, high=9, later=True)
    inner: Small = field(default_factory=Small)


def test_an_option_that_came_later_is_in_no_key_until_it_is_used() -> None:
    inner = asdict(Small())
    assert key_options(Grown()) == {"old": 3, "inner": inner}
    assert key_options(Grown(new=2)) == {"old": 3, "new": 2, "inner": inner}


def test_a_ranged_field_is_a_plain_field_for_dataclasses_and_omegaconf() -> None:
    assert [dict(field.metadata) for field in fields(Small)] == [{RANGE: (0.0, 1.0)}, {RANGE: (1, 9)}, {}]
    first, second = Small(), Small()
    first.sizes.append(3)
    assert (second.sizes, Small().sizes) == ([1, 2], [1, 2])
    schema = OmegaConf.structured(Small)
    assert OmegaConf.to_object(OmegaConf.merge(schema, {"sizes": [9], "share": 1})) == Small(1.0, [9])
    check_ranges("small", Small(1.0, [1, 9]))
    with pytest.raises(ConfigError, match=r"^small\.sizes must lie between 1 and 9, got 10$"):
        check_ranges("small", Small(sizes=[2, 10]))
