"""Traditional script to simplified, character for character, so that a place in one text is that place in the other."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from pipeline.errors import ConfigError

CONVERSION = "t2s"
"""OpenCC's name of it. Words are kept, as in "軟體" -> "软体": those of another region may be longer."""

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+")


def to_simplified(text: str) -> str:
    """Convert a text, keeping its length.

    A run of Chinese characters is converted at once, since OpenCC knows phrases ("乾隆", but "干燥"). Where that
    changes its length it is converted character by character.

    Raises:
        ConfigError: OpenCC is not installed.
    """
    convert = converter()
    return _HAN.sub(lambda run: _aligned(run.group(), convert), text)


@lru_cache(maxsize=1)
def converter() -> Callable[[str], str]:
    """Return OpenCC's conversion.

    Raises:
        ConfigError: OpenCC is not installed.
    """
    try:
        from opencc import OpenCC
    except ImportError as error:
        raise ConfigError(
            "text.to_simplified: OpenCC is not installed", hint="pip install -r requirements-script.txt"
        ) from error
    convert: Callable[[str], str] = OpenCC(CONVERSION).convert
    return convert


def _aligned(run: str, convert: Callable[[str], str]) -> str:
    converted = convert(run)
    if len(converted) == len(run):
        return converted
    forms = zip(run, map(convert, run), strict=True)
    return "".join(form if len(form) == 1 else char for char, form in forms)
