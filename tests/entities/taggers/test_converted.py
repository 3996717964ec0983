"""A tagger converted for OpenVINO finds what torch finds, and runs without torch."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.config import TaggerConfig
from pipeline.entities.taggers.converted import load_converted
from pipeline.entities.taggers.model import TaggerModel
from pipeline.errors import ArtifactError, ConfigError
from pipeline.nn import openvino_engine
from pipeline.nn.openvino_engine import NETWORK, WEIGHTS
from pipeline.text.spans import LabelledText, ScoredSpan, Span
from tests.support.paths import ROOT

pytest.importorskip("openvino")

Options = Callable[..., TaggerConfig]
TEXTS = [
    LabelledText("青禾\n云杉汽车很好很好，青禾也好", (Span(0, 2, "A"), Span(3, 7, "B")), title_stop=2),
    LabelledText("云杉汽车", (Span(0, 4, "B"),)),
    LabelledText("很好" * 30),
    LabelledText(""),
]


def fitted(
    config: TaggerConfig, folder: Path, *, converts: bool = True, label_weight: float | None = None
) -> TaggerModel:
    model = TaggerModel(config, labels=("A", "B"), label_weight=label_weight, seed=2, converts=converts).fit(TEXTS)
    model.save(folder)
    return model


@pytest.mark.parametrize(("crf", "label_weight"), [(True, None), (False, None), (True, 0.5)])
def test_it_finds_what_torch_finds(tiny_tagger: Options, tmp_path: Path, crf: bool, label_weight: float | None) -> None:
    config = tiny_tagger("bert", epochs=12, crf=crf, min_prob=0.01)
    model = fitted(config, tmp_path, label_weight=label_weight)
    converted = load_converted(tmp_path, labels=("A", "B"))
    assert converted.tag(TEXTS) == model.tag(TEXTS)
    for ours, theirs in zip(converted.predict(TEXTS), model.predict(TEXTS), strict=True):
        assert _places(ours) == _places(theirs)
        assert [span.prob for span in ours] == pytest.approx([span.prob for span in theirs], abs=1e-4)
    assert any(converted.predict(TEXTS))


def _places(spans: list[ScoredSpan]) -> list[Span]:
    return [Span(span.start, span.stop, span.label) for span in spans]


def test_a_model_that_is_saved_again_leaves_no_older_network(tiny_tagger: Options, tmp_path: Path) -> None:
    fitted(tiny_tagger("bert", epochs=1), tmp_path)
    assert (tmp_path / NETWORK).is_file()
    assert (tmp_path / WEIGHTS).is_file()
    fitted(tiny_tagger("bert", epochs=1), tmp_path, converts=False)
    assert not (tmp_path / NETWORK).exists()
    assert not (tmp_path / WEIGHTS).exists()
    assert not openvino_engine.answers("auto", tmp_path)


def test_a_tagger_of_another_kind_is_not_converted(tiny_tagger: Options, tmp_path: Path) -> None:
    fitted(tiny_tagger("lstm", epochs=1), tmp_path)
    assert not (tmp_path / NETWORK).exists()


def test_prediction_imports_no_torch(tiny_tagger: Options, tmp_path: Path) -> None:
    fitted(tiny_tagger("bert", epochs=1), tmp_path)
    program = (
        "import sys\nfrom pathlib import Path\n"
        "from pipeline.config import Config\nfrom pipeline.entities.tagging import TaggerStage\n"
        "from pipeline.text.spans import LabelledText\n"
        "reader = TaggerStage(Config(), labels=('A', 'B')).read_model(Path(sys.argv[1]))\n"
        "reader.predict([LabelledText('云杉汽车很好')])\n"
        "print(sorted({name.split('.')[0] for name in sys.modules} & {'torch', 'transformers', 'accelerate'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", [NETWORK, WEIGHTS])
def test_a_damaged_network_is_told(tiny_tagger: Options, tmp_path: Path, name: str) -> None:
    fitted(tiny_tagger("bert", epochs=1), tmp_path)
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(ArtifactError, match=NETWORK):
        load_converted(tmp_path)


def test_what_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(openvino_engine, "GPU", tmp_path / "none")
    assert not openvino_engine.answers("openvino", tmp_path)
    assert "holds no network for OpenVINO, torch answers" in caplog.text
    for name in (NETWORK, WEIGHTS):
        (tmp_path / name).touch()
    assert [openvino_engine.answers(engine, tmp_path) for engine in ("auto", "openvino", "torch")] == [
        True,
        True,
        False,
    ]
    monkeypatch.setattr(openvino_engine, "GPU", tmp_path)
    assert [openvino_engine.answers(engine, tmp_path) for engine in ("auto", "openvino", "torch")] == [
        False,
        True,
        False,
    ]
    monkeypatch.setattr(openvino_engine, "find_spec", lambda name: None)
    assert not openvino_engine.answers("auto", tmp_path)
    assert not openvino_engine.may_convert("auto")
    with pytest.raises(ConfigError, match="not installed") as caught:
        openvino_engine.may_convert("openvino")
    assert caught.value.hint == "pip install -r requirements-engine.txt"


def test_a_network_that_cannot_be_converted_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    import torch
    from torch import Tensor, nn

    class Sized(nn.Module):
        def forward(self, tokens: Tensor) -> Tensor:
            return tokens.float() * torch.ones(int(tokens.shape[1]))  # a constant for the tracer

    assert not openvino_engine.convert(Sized(), {"tokens": torch.ones(2, 8, dtype=torch.long)}, tmp_path)
    assert "cannot be converted for OpenVINO, torch will answer" in caplog.text
    assert not any(tmp_path.iterdir())
