"""The picture of ``compare modes``: two comparisons, one below the other."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.mode_figure import LEFT, RIGHT, WIDTH, main

SVG = "{http://www.w3.org/2000/svg}"


def comparison(delta: float) -> dict[str, object]:
    gain = {"delta": delta, "interval_95": [delta - 0.02, delta + 0.01]}
    part = {
        "two_stage": {"gain": {}},
        "joint": {"gain": {"entity_f1": gain, "emotion_f1": gain, "score": gain}},
    }
    return {"base": "two_stage", "n_train": 8, "n_test": 4, "out_of_fold": part, "test": part}


def test_every_gain_is_drawn_on_one_scale(tmp_path: Path) -> None:
    for name, delta in (("a", -0.03), ("b", 0.01)):
        (tmp_path / f"{name}.json").write_text(json.dumps(comparison(delta)), encoding="utf-8")
    picture = tmp_path / "modes.svg"
    main([f"R&D={tmp_path / 'a.json'}", f"second={tmp_path / 'b.json'}", "--out", str(picture)])
    root = ElementTree.fromstring(picture.read_text(encoding="utf-8"))
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert texts[0] == "Points above two_stage, with 95 % intervals"
    assert "R&D: joint, out-of-fold, 8 articles" in texts
    assert "second: joint, test, 4 articles" in texts
    assert texts.count("-3.0") == texts.count("+1.0") == 6
    bars = [line for line in root.iter(f"{SVG}line") if line.get("class") == "bar"]
    assert len(bars) == 12
    for bar in bars:
        assert LEFT <= float(bar.get("x1", "")) < float(bar.get("x2", "")) <= WIDTH - RIGHT
    axis = next(float(line.get("x1", "")) for line in root.iter(f"{SVG}line") if line.get("class") == "axis")
    dots = [float(dot.get("cx", "")) for dot in root.iter(f"{SVG}circle")]
    assert [dot < axis for dot in dots] == [True] * 6 + [False] * 6


def test_a_comparison_needs_a_name(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit):
        main(["modes.json", "--out", str(tmp_path / "modes.svg")])
    assert "modes.json: want NAME=FILE" in capsys.readouterr().err
