"""Files and ``--set``: words stay words, options may refer to options, and nothing reads the environment."""

from __future__ import annotations

from pathlib import Path

import pytest
from omegaconf import OmegaConf

from pipeline.config import config_from_dict, load_config
from pipeline.config.sources import quote_words, read_file
from pipeline.errors import ConfigError

SECRET = "not-to-be-seen-7341"
RESOLVERS = (
    "${oc.env:OPTION_SECRET}",
    "a/${oc.env:OPTION_SECRET}/b",
    "${ oc.env:OPTION_SECRET }",
    "${oc.env:OPTION_SECRET,other}",
    "${oc.decode:${oc.env:OPTION_SECRET}}",
    "${oc.${joint.ranking}:OPTION_SECRET}",
    "${seed}${oc.env:OPTION_SECRET}",
    "\\${oc.env:OPTION_SECRET}",
    "${oc.select:seed}",
    "${oc.create:{a: 1}}",
)


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPTION_SECRET", SECRET)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "mine.yaml"


def test_the_resolver_would_read_the_environment() -> None:
    assert OmegaConf.create({"a": RESOLVERS[0]}).a == SECRET


@pytest.mark.parametrize("text", RESOLVERS)
def test_resolvers_are_refused_in_files(file: Path, text: str) -> None:
    for content in (
        f"candidates:\n  dictionary: '{text}'\n",
        f"sentiment:\n  transfer: [a.jsonl, '{text}']\n",
        f"'{text}': 3\n",
        f"common: &name '{text}'\ncandidates:\n  dictionary: *name\n",
    ):
        file.write_text(content)
        with pytest.raises(ConfigError, match=r"^[^\n]*mine\.yaml: [^\n]*only other options can be referred to") as got:
            load_config(file=file)
        assert SECRET not in str(got.value)
        assert text in str(got.value)


@pytest.mark.parametrize("text", RESOLVERS)
def test_resolvers_are_refused_on_the_command_line_and_in_stored_options(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^--set [^\n]*only other options can be referred to") as given:
        load_config(overrides=[f"candidates.dictionary='{text}'"])
    with pytest.raises(ConfigError, match=r"^candidates\.dictionary: [^\n]*only other options") as stored:
        config_from_dict({"candidates": {"dictionary": text}})
    assert SECRET not in str(given.value) + str(stored.value)


def test_what_two_options_make_together_is_not_computed() -> None:
    config = load_config(overrides=["tagger.name=$", "candidates.dictionary=${tagger.name}{oc.env:OPTION_SECRET}"])
    assert config.candidates.dictionary == "${oc.env:OPTION_SECRET}"
    with pytest.raises(ConfigError, match="only other options"):
        config_from_dict(config.to_dict())


def test_options_may_refer_to_options(file: Path) -> None:
    file.write_text("seed: 5\ncandidates:\n  dictionary: names-${seed}.txt\nhead:\n  hidden_dim: ${.embedding_dim}\n")
    config = load_config(file=file, overrides=["seed=6", "tagger.training.patience=${training.patience}"])
    assert config.candidates.dictionary == "names-6.txt"
    assert config.head.hidden_dim == config.head.embedding_dim == 64
    assert config.tagger.training.patience == 3
    with pytest.raises(ConfigError, match="Interpolation key 'nothing' not found"):
        load_config(overrides=["candidates.dictionary=${nothing}"])
    with pytest.raises(ConfigError, match=r"^head\.n_heads must lie between 1 and 128, got 300$"):
        load_config(overrides=["training.patience=300", "head.n_heads=${training.patience}"])


@pytest.mark.parametrize("word", ["no", "No", "yes", "on", "off", "OFF", "true", "False"])
def test_words_of_yaml_are_words_where_an_option_wants_words(file: Path, word: str) -> None:
    file.write_text(
        f"candidates: {{dictionary: {word}}}\nsentiment:\n  transfer: [a, {word}]\n  members: [&one {word}, *one ]\n"
    )
    with pytest.raises(ConfigError, match=f"sentiment.members repeats {word}"):
        load_config(file=file)
    config = load_config(file=file, overrides=["sentiment.members=[tfidf]"])
    assert config.candidates.dictionary == word
    assert config.sentiment.transfer == ["a", word]
    assert load_config(overrides=[f"candidates.dictionary={word}"]).candidates.dictionary == word


def test_no_mixed_precision(file: Path) -> None:
    assert load_config().tagger.training.mixed_precision == "auto"
    for value in ("no", "'no'", '"no"'):
        config = load_config(overrides=[f"tagger.training.mixed_precision={value}"])
        assert config.tagger.training.mixed_precision == "no"
        file.write_text(f"tagger:\n  training:\n    mixed_precision: {value} # none\n")
        assert load_config(file=file).tagger.training.mixed_precision == "no"
    with pytest.raises(ConfigError, match=r"Invalid value 'off', expected one of \['no', 'bf16', 'auto'\]"):
        load_config(overrides=["tagger.training.mixed_precision=off"])


@pytest.mark.parametrize(
    ("word", "value"),
    [("yes", True), ("on", True), ("true", True), ("TRUE", True), ("no", False), ("Off", False), ("false", False)],
)
def test_the_same_words_are_true_and_false_where_an_option_wants_that(file: Path, word: str, value: bool) -> None:
    file.write_text(f"tagger:\n  crf: {word}\n")
    assert load_config(file=file).tagger.crf is value
    assert load_config(overrides=[f"tagger.crf={word}"]).tagger.crf is value


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("", ""),
        ("# no\n", "# no\n"),
        ("no", "'no'"),
        ("a: no # no\nb: 'on'\nc: nothing\n", "a: 'no' # no\nb: 'on'\nc: nothing\n"),
        ("{a: [on,off], 名: true}", "{a: ['on','off'], 名: 'true'}"),
        ("a: &x yes\nb: *x\n", "a: &x 'yes'\nb: *x\n"),
        ("a:\r\n  - off\r\n  - on\r\n", "a:\r\n  - 'off'\r\n  - 'on'\r\n"),
        ("\ufeffa: no\n", "\ufeffa: 'no'\n"),
        ("no: 1\n", "'no': 1\n"),
        ("a: no\n\n\n", "a: 'no'\n\n\n"),
    ],
)
def test_quotes_are_put_where_the_words_stand(text: str, quoted: str) -> None:
    assert quote_words(text) == quoted


def test_lines_of_mistakes_are_those_of_the_file(file: Path) -> None:
    file.write_text("tagger:\n  crf: no\n\nseed: 1\nseed: 2\n")
    with pytest.raises(ConfigError, match=r"mine\.yaml: not valid YAML: .*duplicate key seed.*line 5"):
        load_config(file=file)


def test_a_file_of_another_kind_than_options(file: Path) -> None:
    file.write_text("seed: 3\n---\nseed: 4\n")
    with pytest.raises(ConfigError, match=r"not valid YAML: .*expected a single document"):
        load_config(file=file)
    file.write_text("")
    assert read_file(file) == {}
