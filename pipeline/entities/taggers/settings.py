"""What is saved beside a tagger's weights: its options and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

from pipeline.artifacts import atomic_write_json, read_json
from pipeline.config import TaggerConfig, TrainingConfig, key_options
from pipeline.errors import ArtifactError, ConfigError
from pipeline.text.spans import TagScheme

FILE = "tagger.json"


@dataclass(frozen=True)
class TaggerSettings:
    """What a tagger is, but for its weights and its tokeniser."""

    config: TaggerConfig
    labels: tuple[str, ...] = ("",)
    """Entity types; the single "" is one nameless type."""
    label_weight: float | None = None
    """None joins labels and boundaries in one tag (B-POS). A number gives labels a layer of their own beside bare tags,
    with this weight in the loss; a span's label is then read from its tokens: the mean of their distributions."""
    words: bool = False
    """Given words are tagged, one label each: the labels are the tags, without any scheme."""

    @cached_property
    def scheme(self) -> TagScheme:
        """The tags with their labels."""
        return TagScheme("WORD" if self.words else self.config.scheme, tuple(self.labels))

    @cached_property
    def network_scheme(self) -> TagScheme:
        """The tags that the network scores."""
        return self.scheme if self.label_weight is None else self.scheme.bare

    def save(self, folder: Path) -> None:
        """Write them into the folder of a tagger."""
        values = {"config": key_options(self.config), "labels": list(self.labels), "label_weight": self.label_weight}
        atomic_write_json(folder / FILE, {**values, **({"words": True} if self.words else {})})

    @classmethod
    def load(cls, folder: Path, *, labels: Sequence[str] | None = None) -> Self:
        """Read what ``save`` wrote.

        Raises:
            ArtifactError: the file is missing or damaged, or its labels are not those that are wanted.
        """
        path = folder / FILE
        values = read_json(path)
        try:
            if labels is not None and list(labels) != values["labels"]:
                raise ArtifactError(f"{path}: tags {_listing(values['labels'])}, want {_listing(labels)}")
            options = dict(values["config"])
            config = TaggerConfig(**{**options, "training": TrainingConfig(**options["training"])})
            return cls(config, tuple(values["labels"]), values.get("label_weight"), values.get("words", False))
        except (KeyError, TypeError, ConfigError) as error:
            raise ArtifactError(f"{path}: not the options of this version ({error})") from error


def _listing(labels: Sequence[str]) -> str:
    return ", ".join(label or "entity" for label in labels)
