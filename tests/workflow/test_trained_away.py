"""Stages whose trainings read more than their items, trained where no folder of the run is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from pipeline.config import Config, EngineConfig, TaggerConfig, TrainingConfig
from pipeline.emotions.sentiment.stage import ENCODER, SentimentStage
from pipeline.entities.tagging import TaggerStage
from pipeline.nn.encoders import STATES
from pipeline.nn.weights import WEIGHTS
from tests.emotions.sentiment.test_frozen_encoder import on_frozen
from tests.emotions.sentiment.test_stage import EXAMPLES, FOLDS, TELLING
from tests.entities.tagging.test_tagging import FOLDS as FOLDS_OF_TEXTS
from tests.entities.tagging.test_tagging import NAMES, TEXTS
from tests.support.away import without_run
from tests.support.tiny_encoder import write_tiny_encoder

OTHERS = [replace(item, group=f"other {item.group}") for item in EXAMPLES]


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of a stage, but those that hold seconds."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files if path.name != "stage.json"}


def epochs(log: Path) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return [{name: value for name, value in line.items() if name != "seconds"} for line in lines]


def test_heads_that_begin_from_others(tmp_path: Path) -> None:
    encoder = write_tiny_encoder(tmp_path / "tiny", n_layers=1, characters="".join([*TELLING.values(), "松果茶社"]))
    options = on_frozen(encoder, "ian")
    here, away = tmp_path / "here", tmp_path / "away"
    stages = []
    for run, how in ((here, {}), (away, {"training_map": without_run(away)})):
        stage = SentimentStage(options, log=run / "log.jsonl")
        stages.append(stage.fit(EXAMPLES, FOLDS, folder=run / "sentiment", others=OTHERS, **how))
    assert contents(away / "sentiment") == contents(here / "sentiment")
    assert epochs(away / "log.jsonl") == epochs(here / "log.jsonl")
    np.testing.assert_array_equal(stages[0].predict(EXAMPLES), stages[1].predict(EXAMPLES))


def test_a_shared_encoder_comes_back_in_place_of_the_one_before(tmp_path: Path) -> None:
    characters = "".join([*TELLING.values(), "松果茶社"])
    run, kept = tmp_path / "run", []
    for seed in (5, 6):
        encoder = write_tiny_encoder(tmp_path / f"tiny{seed}", n_layers=1, seed=seed, characters=characters)
        options = on_frozen(encoder, "ian")
        SentimentStage(options).fit(EXAMPLES, FOLDS, folder=run / "sentiment", training_map=without_run(run))
        kept.append((run / "sentiment" / ENCODER / WEIGHTS).read_bytes())
        assert not (run / "sentiment" / ENCODER / STATES).exists()
    SentimentStage(options).fit(EXAMPLES, FOLDS, folder=tmp_path / "apart")
    assert kept[0] != kept[1]
    assert contents(run / "sentiment") == contents(tmp_path / "apart")


def test_a_tagger_that_begins_from_other_rows_and_keeps_states(tmp_path: Path) -> None:
    rows = [{"text": f"{name}很好", "entities": [{"type": "x", "from": 0, "to": len(name)}]} for name in NAMES]
    (tmp_path / "rows.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    encoder = write_tiny_encoder(tmp_path / "tiny")
    training = TrainingConfig(max_epochs=1, batch_size=4, learning_rate=1e-2, mixed_precision="no")
    tagger = TaggerConfig(
        name="bert",
        encoder=str(encoder),
        freeze_layers=1,
        window_tokens=24,
        train_window_tokens=24,
        overlap_tokens=8,
        title_tokens=8,
        train_tokens=48,
        frozen_dropout=False,
        ner_files=[str(tmp_path / "rows.jsonl")],
        ner_epochs=1,
        training=training,
    )
    # OpenVINO's file of the network has names that count what the process has converted.
    config = Config(workers=1, tagger=tagger, engine=EngineConfig(encoder="torch"))
    here, away = tmp_path / "here", tmp_path / "away"
    stages = []
    for run, how in ((here, {}), (away, {"training_map": without_run(away)})):
        stage = TaggerStage(config, log=run / "log.jsonl")
        stages.append(stage.fit(TEXTS, FOLDS_OF_TEXTS, folder=run / "tagger", **how))
    assert contents(away / "tagger") == contents(here / "tagger")
    assert stages[0].oof_ == stages[1].oof_
    assert epochs(away / "log.jsonl") == epochs(here / "log.jsonl")
