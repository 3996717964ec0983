"""Options: presets parse, values merge in order, and every mistake names the key, file or option it is in."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from pipeline.config import DEFAULT_PRESET, PRESET_DIR, Config, config_from_dict, load_config, presets
from pipeline.errors import ConfigError


@pytest.fixture
def write(tmp_path: Path):  # type: ignore[no-untyped-def]
    def write(content: str | bytes) -> Path:
        path = tmp_path / "mine.yaml"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


# --- presets


def test_presets_were_found() -> None:
    assert {"cpu", "tiny"} <= set(presets())
    assert list(presets()) == sorted(path.stem for path in PRESET_DIR.iterdir())


@pytest.mark.parametrize("name", presets())
def test_every_preset_parses(name: str) -> None:
    assert isinstance(load_config(preset=name), Config)


def flat(values: dict, prefix: str = "") -> dict[str, object]:  # type: ignore[type-arg]
    found: dict[str, object] = {}
    for key, value in values.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found


@pytest.mark.parametrize("name", presets())
def test_presets_hold_only_differences(name: str) -> None:
    content = yaml.safe_load((PRESET_DIR / f"{name}.yaml").read_text(encoding="utf-8")) or {}
    defaults, resolved = flat(Config().to_dict()), flat(load_config(preset=name).to_dict())
    changed = {key for key in defaults if defaults[key] != resolved[key]}
    assert changed == flat(content).keys()


def test_options_without_a_preset_are_those_of_the_default_preset() -> None:
    assert Config() == load_config(preset=DEFAULT_PRESET) == load_config()
    assert DEFAULT_PRESET == "cpu"


def test_preset_fast_differs_from_the_default_in_tagger_and_trees_alone() -> None:
    fast = load_config(preset="fast")
    assert (fast.tagger.name, fast.rerank.n_estimators, fast.rerank.learning_rate) == ("none", 400, 0.06)
    assert replace(fast, rerank=Config().rerank, tagger=Config().tagger) == Config()


def test_unknown_preset() -> None:
    with pytest.raises(ConfigError, match=r"unknown preset 'tinny' \(have: .*cpu.*tiny"):
        load_config(preset="tinny")


# --- merging


def test_later_sources_win(write) -> None:  # type: ignore[no-untyped-def]
    file = write("n_folds: 4\nrerank:\n  num_leaves: 5\n  n_estimators: 6\n")
    config = load_config(preset="tiny", file=file, overrides=["rerank.num_leaves=7", "rerank.num_leaves=8"])
    assert (config.n_folds, config.rerank.num_leaves, config.rerank.n_estimators) == (4, 8, 6)
    assert config.rerank.learning_rate == load_config(preset="tiny").rerank.learning_rate


@pytest.mark.parametrize(
    ("override", "path", "value"),
    [
        ("seed=3", "seed", 3),
        ("rerank.learning_rate=1e-3", "rerank.learning_rate", 1e-3),
        ("rerank.learning_rate=1", "rerank.learning_rate", 1.0),
        ("candidates.use_gold_names=false", "candidates.use_gold_names", False),
        ("candidates.dictionary=a=b=c.txt", "candidates.dictionary", "a=b=c.txt"),
        ("candidates.dictionary=名单 1.txt", "candidates.dictionary", "名单 1.txt"),
        ("candidates.dictionary=", "candidates.dictionary", ""),
        ("candidates.dictionary=''", "candidates.dictionary", ""),
        ("candidates.dictionary='no'", "candidates.dictionary", "no"),
        ("rerank.objective=lambdarank", "rerank.objective", "lambdarank"),
        ("sentiment.members=[majority,ian]", "sentiment.members", ["majority", "ian"]),
    ],
)
def test_overrides(override: str, path: str, value: object) -> None:
    found: object = load_config(overrides=[override])
    for name in path.split("."):
        found = getattr(found, name)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("content", ["", "# nothing\n", "{}\n", "rerank: {}\n", "\ufeff"])
def test_files_that_set_nothing(write, content: str) -> None:  # type: ignore[no-untyped-def]
    assert load_config(file=write(content)) == load_config()


def test_configurations_do_not_share_lists() -> None:
    load_config().sentiment.members.append("x")
    assert "x" not in load_config().sentiment.members


def test_yaml_numbers_without_a_dot_are_numbers(write) -> None:  # type: ignore[no-untyped-def]
    assert load_config(file=write("training:\n  learning_rate: 1e-3\n")).training.learning_rate == 1e-3


# --- mistakes


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("rerank:\n  num_leavs: 3\n", "rerank.num_leavs: .*Did you mean: 'num_leaves'"),
        ("nothing: 3\n", "Key 'nothing' not in 'Config'"),
        ("rerank:\n  num_leaves: many\n", "rerank.num_leaves: Value 'many' .* could not be converted to Integer"),
        ("seed: null\n", "seed: Incompatible value 'None'"),
        ("seed: 1.5\n", "seed: Value '1.5'"),
        ("rerank: 3\n", "int is not a subclass of RerankConfig"),
        ("rerank:\n  objective: pairwise\n", "rerank.objective: Invalid value 'pairwise', expected one of"),
        ("sentiment:\n  members: ian\n", "sentiment.members: Invalid value"),
        ("candidates:\n  use_gold_names: maybe\n", "candidates.use_gold_names: Value 'maybe' is not a valid bool"),
        ("- rerank\n", "not readable as YAML options"),
        ("rerank: " + "[" * 1500, "not readable as YAML options: "),
        ("rerank\n", "Key 'rerank|rerank"),
        ("rerank: [1\n", "not valid YAML: .*line 1"),
        ("seed: 1\nseed: 2\n", "not valid YAML: .*duplicate key seed"),
        ("seed:\t1\n\tn_folds: 2\n", "not valid YAML"),
        (b"\xff\xfe\x00", "not readable as YAML options: .*utf-8"),
    ],
)
def test_mistakes_in_a_file_name_file_and_key(write, content: str | bytes, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ConfigError, match=rf"^[^\n]*mine\.yaml: [^\n]*{message}[^\n]*$") as caught:
        load_config(file=write(content))
    assert caught.value.exit_code == 2


def test_missing_file(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(ConfigError, match=rf"{re.escape(str(path))}: no such configuration file"):
            load_config(file=path)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("rerank.num_leaves", "want key=value"),
        ("", "want key=value"),
        ("=3", "Key '' not in 'Config'"),
        ("rerank.num_leavs=3", "Did you mean: 'num_leaves'"),
        ("a.b=3", "Key 'a' not in 'Config'"),
        ("rerank.num_leaves=many", "could not be converted to Integer"),
        ("rerank.num_leaves=9=9", "Value '9=9'"),
        ("rerank.num_leaves=", "Value '' .* could not be converted to Integer"),
        ("rerank.num_leaves.x=3", "could not be converted to Integer"),
        ("rerank=3", "int is not a subclass of RerankConfig"),
        ("rerank.num_leaves=[1", "not valid YAML"),
        ("seed=1e3", "could not be converted to Integer"),
    ],
)
def test_mistakes_in_an_override_name_it(override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=rf"^--set {re.escape(override)}: [^\n]*{message}"):
        load_config(overrides=[override])


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("seed=-1", "seed must lie between 0 and 2147483647, got -1"),
        ("n_folds=1", "n_folds must lie between 2 and 50, got 1"),
        ("workers=0", "workers must lie between"),
        ("candidates.max_words=0", "candidates.max_words must"),
        ("candidates.max_chars=1", "candidates.max_chars must"),
        ("candidates.max_candidates=2", "candidates.max_candidates must"),
        ("rerank.max_entities=4", "rerank.max_entities must lie between 1 and 3, got 4"),
        ("rerank.learning_rate=nan", "rerank.learning_rate must .* got nan"),
        ("rerank.learning_rate=inf", "rerank.learning_rate must .* got inf"),
        ("rerank.n_bags=0", "rerank.n_bags must"),
        ("cross.top_k=2", "cross.top_k must"),
        ("cross.max_tokens=513", "cross.max_tokens must"),
        ("cross.pooled_tokens=31", "cross.pooled_tokens must"),
        ("cross.n_negatives=0", "cross.n_negatives must"),
        ("cross.dropout=1", "cross.dropout must"),
        ("cross.n_estimators=0", "cross.n_estimators must"),
        ("rerank.hit_rate_smoothing=-1", "rerank.hit_rate_smoothing must"),
        ("head.dropout=1", "head.dropout must"),
        ("head.hidden_dim=1", "head.hidden_dim must"),
        ("training.batch_size=0", "training.batch_size must"),
        ("training.warmup_fraction=2", "training.warmup_fraction must"),
        ("sentiment.members=[]", "sentiment.members must name at least one model"),
        ("sentiment.members=[ian,tfidf,ian]", "sentiment.members repeats ian"),
        ("sentiment.choose=ian", r"sentiment.choose=ian: 'ian' is none of sentiment.members \(tfidf, .*, majority\)"),
        ("sentiment.choose=tfidf+nix", "sentiment.choose=tfidf.nix: 'nix' is none of sentiment.members"),
        ("sentiment.choose=tfidf+", r"sentiment.choose=tfidf\+: want auto, a member, or members joined by \+"),
        ("sentiment.choose=tfidf+tfidf", r"sentiment.choose=tfidf\+tfidf: repeats tfidf"),
        ("sentiment.choose=auto+tfidf", "'auto' is none of sentiment.members"),
        ("sentiment.dev_fraction=0.9", "sentiment.dev_fraction must"),
    ],
)
def test_values_out_of_range_name_the_key(override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_config(overrides=[override])


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("tfidf+tfdif_nb", "did you mean 'tfidf_nb'?"),
        ("atuo", "did you mean 'auto'?"),
        ("ian", "add it to sentiment.members, or choose one of them"),
    ],
)
def test_a_misspelt_choice_gets_the_nearest_member(value: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(overrides=[f"sentiment.choose={value}"])
    assert caught.value.hint == hint
    assert load_config(overrides=["sentiment.choose=majority+tfidf"]).sentiment.choose == "majority+tfidf"


# --- as stored with a run


@pytest.mark.parametrize("name", presets())
def test_round_trip_through_json(name: str) -> None:
    config = load_config(preset=name, overrides=["candidates.dictionary=名单.txt", "rerank.learning_rate=0.1"])
    assert config_from_dict(json.loads(json.dumps(config.to_dict()))) == config


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"nothing": 1}, "Key 'nothing' not in 'Config'"),
        ({"rerank": {"num_leaves": "x"}}, "rerank.num_leaves: Value 'x'"),
        ({"rerank": {"num_leaves": 1}}, "rerank.num_leaves must lie between"),
        ({"candidates": {"dictionary": "${oc.env:HOME}"}}, "candidates.dictionary: .*only other options"),
    ],
)
def test_stored_options_of_another_version_are_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config_from_dict(values)


def test_missing_stored_options_get_their_default() -> None:
    assert config_from_dict({"seed": 3}) == Config(seed=3)
