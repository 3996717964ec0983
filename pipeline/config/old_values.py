"""Values that options had before: they are read as what they meant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omegaconf import DictConfig, ListConfig, OmegaConf

OLD_VALUES: Mapping[str, Mapping[str, str]] = {
    "head.af_normalise": {"true": "layer", "yes": "layer", "on": "layer", "false": "none", "off": "none", "no": "none"}
}
"""By option: an old value, as text in lower case, and its name today."""


def renew(values: DictConfig | ListConfig) -> None:
    """Replace old values, in place, by what they are called today."""
    for option, names in OLD_VALUES.items():
        found: Any = OmegaConf.select(values, option) if OmegaConf.is_dict(values) else None
        if (today := names.get(str(found).lower())) is not None:
            OmegaConf.update(values, option, today)
