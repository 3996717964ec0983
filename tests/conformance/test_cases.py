"""Every case of tests/data/cases.jsonl, or of the file that ``--cases FILE`` names."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import FILES

from .adapters import ADAPTERS, LATER
from .framework import CaseError, Tools, run_case

PUBLIC = FILES / "cases.jsonl"
REQUIRED = frozenset(
    {
        *("parse", "align", "split", "candidates", "ranker_groups", "ranker_features", "select", "oof"),
        *("table_roundtrip", "submission", "validate_submission", "metric", "head_input"),
        *("cli", "cli_predict", "repro", "detail_output"),
    }
)
"""Kinds that the public file must hold."""
PROCESSES = frozenset({"cli", "cli_predict", "repro"})
"""Kinds that take seconds."""
ONE_SIDED = ("must_not", "max_", "min_", "final_at_most", "exactly_one_of", "invariant", "note")
"""Expectations that stay true when more is forbidden or less is demanded."""


def read_cases(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" not in metafunc.fixturenames:
        return
    named = metafunc.config.getoption("--cases")
    path = metafunc.config.invocation_params.dir / named if named else PUBLIC
    if not path.is_file():
        raise pytest.UsageError(f"--cases {path}: no such file")
    params = [
        pytest.param(case, id=f"{case['id']}-{case['kind']}", marks=_marks(case["kind"])) for case in read_cases(path)
    ]
    metafunc.parametrize("case", params)


def _marks(kind: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.xfail(reason=LATER[kind], raises=CaseError, strict=True)] if kind in LATER else []


def test_case(case: dict[str, Any], tools: Tools) -> None:
    run_case(case, tools, ADAPTERS)


# --- the adapters themselves

CASES = read_cases(PUBLIC)
QUICK = [case for case in CASES if case["kind"] in ADAPTERS.keys() - PROCESSES]


def by_id(cases: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in cases]


def test_every_kind_is_either_done_or_expected_to_fail() -> None:
    kinds = {case["kind"] for case in CASES}
    assert kinds >= REQUIRED
    assert kinds <= ADAPTERS.keys() | LATER.keys()
    assert not ADAPTERS.keys() & LATER.keys()
    assert ADAPTERS.keys() >= REQUIRED | {"lexicon"}


def test_no_case_waits_and_no_adapter_knows_one() -> None:
    assert LATER == {}
    adapters = [path for path in Path(__file__).parent.glob("*.py") if not path.name.startswith("test_")]
    assert len(adapters) > 10
    words = {word for path in adapters for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    assert [case["id"] for case in CASES if case["id"] in words] == []


@pytest.mark.parametrize("kind", sorted(ADAPTERS))
def test_an_expectation_nobody_understands_fails(kind: str, tools: Tools) -> None:
    case = {"id": "x", "kind": kind, "input": {"articles": {}}, "expected": {"no_such_thing": 1}}
    with pytest.raises(CaseError, match="expected 'no_such_thing' is not understood"):
        run_case(case, tools, ADAPTERS)


def test_an_unknown_kind_fails(tools: Tools) -> None:
    with pytest.raises(CaseError, match="no adapter for kind 'no_such_kind'"):
        run_case({"id": "x", "kind": "no_such_kind", "input": {}, "expected": {"a": 1}}, tools, ADAPTERS)


def test_a_case_that_expects_nothing_fails(tools: Tools) -> None:
    with pytest.raises(CaseError, match="nothing is expected"):
        run_case({"id": "x", "kind": "metric", "input": {}, "expected": {"note": "?"}}, tools, ADAPTERS)


@pytest.mark.parametrize("public", by_id([case for case in QUICK if case["kind"] != "table_roundtrip"]))
def test_an_input_nobody_reads_fails(public: dict[str, Any], tools: Tools) -> None:
    strange = {**public, "input": {**public["input"], "no_such_input": [1]}}
    with pytest.raises(CaseError, match="input no_such_input is not understood"):
        run_case(strange, tools, ADAPTERS)


@pytest.mark.parametrize("public", by_id(QUICK))
def test_a_wrong_answer_fails(public: dict[str, Any], tools: Tools) -> None:
    """Each expected value in turn is made wrong: the case must notice."""
    for key, value in public["expected"].items():
        if not key.startswith(ONE_SIDED):
            changed = {**public, "expected": {**public["expected"], key: spoil(value)}}
            assert fails(changed, tools), key


def fails(case: dict[str, Any], tools: Tools) -> bool:
    try:
        run_case(case, tools, ADAPTERS)
    except (AssertionError, CaseError):
        return True
    return False


def spoil(value: Any) -> Any:
    """Return another value of the same form."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return f"{value}。不在"
    if isinstance(value, list):
        if value and isinstance(value[0], dict):
            return value[1:]
        if value and isinstance(value[0], list):
            return [*value, [*value[0][:-1], "不在"]] if isinstance(value[0][-1], str) else [[value[0][0], 99]]
        return [*value, "不在"]
    spoilt = copy.deepcopy(value)
    first = next(iter(spoilt))
    spoilt[first] = spoil(spoilt[first])
    return spoilt
