"""Results of trainings: the file that keeps them, and the table over seeds by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.errors import ArtifactError
from pipeline.standalone.heads.results import (
    Attention,
    HeadResult,
    HeadSummary,
    ResultFile,
    markdown_table,
    summarise,
    text_table,
)

SEEN = Attention("云杉", [0.25, 0.75], (0, 2), "POS", "NEG")
FIRST = HeadResult("ian", 7, 0.5, 0.25, {"POS": 0.5, "a|b": None}, 0.75, 1234, 2.0, [SEEN])
SECOND = HeadResult("ian", 8, 0.75, 0.75, {"POS": 1.0, "a|b": None}, 0.25, 1234, 4.0)
OTHER = HeadResult("lstm", 7, 1.0, 1.0, {"POS": 1.0, "a|b": 0.5})


def test_table_over_seeds_by_hand() -> None:
    ian, lstm = summarise([FIRST, OTHER, SECOND])
    assert ian == HeadSummary(
        head="ian",
        n_seeds=2,
        accuracy=(0.625, pytest.approx(0.125 * 2**0.5)),  # type: ignore[arg-type]
        macro_f1=(0.5, pytest.approx(0.25 * 2**0.5)),  # type: ignore[arg-type]
        f1={"POS": 0.75, "a|b": None},
        dev_accuracy=0.5,
        n_parameters=1234,
        seconds=3.0,
    )
    assert (lstm.accuracy, lstm.dev_accuracy, lstm.f1["a|b"]) == ((1.0, 0.0), None, 0.5)
    assert text_table([ian, lstm]) == (
        "head  seeds         accuracy         macro-F1  F1 POS  F1 a|b  dev accuracy  parameters  seconds\n"
        "ian       2  0.6250 ± 0.1768  0.5000 ± 0.3536  0.7500       -        0.5000       1,234      3.0\n"
        "lstm      1           1.0000           1.0000  1.0000  0.5000             -           0      0.0"
    )
    assert markdown_table([lstm]) == (
        "| head | seeds | accuracy | macro-F1 | F1 POS | F1 a\\|b | dev accuracy | parameters | seconds |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        "| lstm | 1 | 1.0000 | 1.0000 | 1.0000 | 0.5000 | - | 0 | 0.0 |\n"
    )


def test_file_keeps_every_result_at_once_and_leaves_other_comparisons(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    kept = ResultFile(path)
    kept.describe("k", {"held_out": 0.2})
    kept.add("k", FIRST)
    assert ResultFile(path).results("k") == {("ian", 7): FIRST}
    ResultFile(path).add("other", OTHER)
    again = ResultFile(path)
    again.add("k", SECOND)
    again.add("k", replace(FIRST, accuracy=0.875))
    found = ResultFile(path)
    assert found.results("k") == {("ian", 7): replace(FIRST, accuracy=0.875), ("ian", 8): SECOND}
    assert found.results("other") == {("lstm", 7): OTHER}
    assert found.results("none") == {}
    assert json.loads(path.read_bytes())["comparisons"]["k"]["held_out"] == 0.2


def test_without_a_path_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    kept = ResultFile(None)
    kept.add("k", FIRST)
    assert kept.results("k") == {("ian", 7): FIRST}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content", ["[]", '{"format": 0, "comparisons": {}}', '{"format": 1}', '{"format": 1, "comparisons": []}', "{", ""]
)
def test_other_files_are_refused_and_stay(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(content)
    with pytest.raises(ArtifactError, match=r"a\.json: (holds no results|not valid JSON)"):
        ResultFile(path)
    assert path.read_text() == content


@pytest.mark.parametrize("entry", [[], {}, {"results": [{"head": "ian"}]}, {"results": 3}])
def test_damaged_results_are_refused(tmp_path: Path, entry: object) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"format": 1, "comparisons": {"k": entry}}))
    with pytest.raises(ArtifactError, match=r"a\.json: damaged results"):
        ResultFile(path).results("k")
