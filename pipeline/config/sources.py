"""Options as somebody wrote them: YAML files, ``--set a.b=value``, and what a run stored. They read no environment."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig, ListConfig, OmegaConf

from pipeline.config.old_values import renew
from pipeline.errors import ConfigError

YAML_BOOL = "tag:yaml.org,2002:bool"
_NOT_AN_OPTION = re.compile(r"\$\{(?!\s*[\w.\[\]]+\s*\})")
"""Begins what OmegaConf would compute by a resolver, such as ``${oc.env:NAME}``; ``${seed}`` refers to an option."""


def read_file(path: Path) -> DictConfig | ListConfig:
    """Read a YAML file of options.

    Raises:
        ConfigError: it computes values by resolvers.
        OSError, ValueError, yaml.YAMLError: it cannot be read.
    """
    found = OmegaConf.load(io.StringIO(quote_words(path.read_text(encoding="utf-8"))))
    refuse_resolvers(OmegaConf.to_container(found))
    renew(found)
    return found


def read_override(item: str) -> DictConfig:
    """Read ``a.b=value``; nothing after the sign is the empty text.

    Raises:
        ConfigError: it computes its value by a resolver.
        ValueError, yaml.YAMLError: the value cannot be read.
    """
    key, _, value = item.partition("=")
    found = OmegaConf.from_dotlist([f"{key}={quote_words(value)}" if value else f'{key}=""'])
    refuse_resolvers(OmegaConf.to_container(found))
    renew(found)
    return found


def refuse_resolvers(values: Any) -> None:
    """Let nothing pass that would be computed, so that no file can bring the environment into a run.

    Raises:
        ConfigError: a text among the values, or a key, calls a resolver; the message holds it as it was written.
    """
    for name, text in _texts(values, ""):
        if _NOT_AN_OPTION.search(text):
            where = f"{name}: " if name != text else ""
            raise ConfigError(f"{where}{text}: only other options can be referred to, as in ${{seed}}")


def quote_words(text: str) -> str:
    """Put quotes around YAML's yes, no, on, off, true and false where they stand without.

    Options of words then take them as the words they are, and options of true and false read words as well.
    """
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    plain = {node.end_mark.index: len(node.value) for node in _scalars(root, set()) if _is_plain_bool(node)}
    for end in sorted(plain, reverse=True):  # from the last, so that the other places stay right
        start = end - plain[end]
        text = f"{text[:start]}'{text[start:end]}'{text[end:]}"
    return text


def _is_plain_bool(node: yaml.ScalarNode) -> bool:
    return node.tag == YAML_BOOL and node.style is None


def _scalars(node: yaml.Node | None, seen: set[int]) -> Iterator[yaml.ScalarNode]:
    if node is None or id(node) in seen:  # an alias is the node that it stands for
        return
    seen.add(id(node))
    if isinstance(node, yaml.ScalarNode):
        yield node
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _scalars(item, seen)
    elif isinstance(node, yaml.MappingNode):
        for pair in node.value:
            for item in pair:
                yield from _scalars(item, seen)


def _texts(values: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield every text with the dotted name of its option; a key is named by itself."""
    if isinstance(values, str):
        yield name, values
    elif isinstance(values, dict):
        for key, value in values.items():
            yield str(key), str(key)
            yield from _texts(value, f"{name}.{key}" if name else str(key))
    elif isinstance(values, list):
        for value in values:
            yield from _texts(value, name)
