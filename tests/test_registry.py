"""Names of models lead to classes, and unknown names to a helpful error."""

from __future__ import annotations

import ast
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path

import pytest

from pipeline import registry
from pipeline.errors import ConfigError
from pipeline.registry import resolve, unknown_name

KNOWN = {"ordered": "collections:OrderedDict", "counter": "collections:Counter"}
ROOT = Path(registry.__file__).parents[1]
REGISTRIES: dict[str, Mapping[str, str]] = {
    name: value for name, value in vars(registry).items() if name.isupper() and isinstance(value, dict)
}
ENTRIES = [(kind, name, target) for kind, names in REGISTRIES.items() for name, target in names.items()]


def test_registries_were_found() -> None:
    assert "HEADS" in REGISTRIES
    assert {"ian", "af_lstm"} <= REGISTRIES["HEADS"].keys()
    assert {"malstm", "soft_align"} <= REGISTRIES["MATCHERS"].keys()


@pytest.mark.parametrize(("kind", "name", "target"), ENTRIES)
def test_every_entry_names_a_class_of_the_project(kind: str, name: str, target: str) -> None:
    """Read from the source, since importing every model would cost seconds; contract tests import them."""
    module, _, attribute = target.partition(":")
    tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8"))
    assert attribute in {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    assert name == name.lower()
    assert "+" not in name  # joins members in sentiment.choose


def test_resolve_imports_the_class() -> None:
    assert resolve(KNOWN, "ordered", kind="mapping") is OrderedDict


@pytest.mark.parametrize(
    ("name", "hint"), [("orderd", "did you mean 'ordered'?"), ("xyz", None), ("", None), ("ORDERED", None)]
)
def test_unknown_names_list_the_known_ones(name: str, hint: str | None) -> None:
    with pytest.raises(ConfigError, match=rf"^unknown mapping '{name}' \(have: ordered, counter\)$") as caught:
        resolve(KNOWN, name, kind="mapping")
    assert caught.value.hint == hint
    assert caught.value.exit_code == 2


def test_unknown_name_of_an_empty_registry() -> None:
    assert unknown_name("head", "ian", {}).message == "unknown head 'ian' (have: )"
