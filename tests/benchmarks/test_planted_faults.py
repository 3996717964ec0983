"""The list of planted faults fits the program as it is; what happens to a fault is told rightly."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.planted_faults import Fault, first_failure, plant, read_faults, table
from tests.support.paths import ROOT

FAULTS = read_faults()
PARTS = {"metric", "data", "runtime", "artifacts", "text", "nn", "entities", "emotions", "joint", "submission"}


def test_the_list_covers_the_program() -> None:
    assert len(FAULTS) >= 50
    assert {fault.part for fault in FAULTS} == PARTS | {"workflow", "report"}
    assert len({(fault.module, fault.about) for fault in FAULTS}) == len(FAULTS)


@pytest.mark.parametrize("fault", FAULTS, ids=[f"{fault.module}-{fault.about}" for fault in FAULTS])
def test_a_fault_can_be_planted(fault: Fault) -> None:
    content = (ROOT / "pipeline" / fault.module).read_text(encoding="utf-8")
    assert content.count(fault.old) == 1, f"{fault.module} has changed: mend benchmarks/planted_faults.toml"
    assert fault.new != fault.old
    compile(content.replace(fault.old, fault.new), fault.module, "exec")
    assert fault.tests
    assert all((ROOT / name).is_file() for name in fault.tests)


def test_planting_refuses_what_stands_there_twice(tmp_path: Path) -> None:
    (tmp_path / "pipeline").mkdir()
    (tmp_path / "pipeline" / "m.py").write_text("a = 1\nb = 1\n", encoding="utf-8")
    with pytest.raises(ValueError, match="stands there 2 times"):
        plant(Fault("m.py", "x", "= 1", "= 2", []), tmp_path)
    before = plant(Fault("m.py", "x", "a = 1", "a = 2", []), tmp_path)
    assert before == "a = 1\nb = 1\n"
    assert (tmp_path / "pipeline" / "m.py").read_text(encoding="utf-8") == "a = 2\nb = 1\n"


def test_failing_tests_are_named(tmp_path: Path) -> None:
    (tmp_path / "test_good.py").write_text("def test_good():\n    assert True\n", encoding="utf-8")
    (tmp_path / "test_bad.py").write_text("def test_bad():\n    assert False\n", encoding="utf-8")
    assert first_failure(["test_good.py"], tmp_path) is None
    assert first_failure(["test_good.py", "test_bad.py"], tmp_path) == "FAILED test_bad.py::test_bad"


def test_the_table_counts_by_part() -> None:
    faults = [Fault(module, "x", "", "", []) for module in ("metric/a.py", "metric/b.py", "nn/c.py")]
    lines = table(list(zip(faults, ["FAILED a", None, "FAILED b"], strict=True))).splitlines()
    assert lines[2:] == ["| metric | 2 | 1 |", "| nn | 1 | 1 |", "| **all** | **3** | **2** |"]
