"""What a label of somebody's file means: usual spellings, and the user's own map."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from reprlib import repr as short_repr

from pipeline.errors import ConfigError, DataError
from pipeline.schema import EMOTIONS, Emotion

_SPELLINGS = {
    Emotion.POS: "pos positive 正 正面 正向 积极 褒义 好评 正面情感 积极情感",
    Emotion.NORM: "norm neu neutral normal 中 中性 中立 无情感 客观",
    Emotion.NEG: "neg negative 负 负面 负向 消极 贬义 差评 负面情感 消极情感",
}
SPELLINGS: dict[str, Emotion] = {name: emotion for emotion, names in _SPELLINGS.items() for name in names.split()}
"""What labels are called, in lower case; whatever is not here must be said by ``--label-map``."""

SIGNED: dict[str, Emotion] = {"1": Emotion.POS, "+1": Emotion.POS, "0": Emotion.NORM, "-1": Emotion.NEG}
"""Numbers that are read where the file holds -1: without it 0 may be negative, as in 0/1 and 0/1/2."""

SKIP = "skip"


def spelt(label: object) -> str:
    """Return a label in the form of the tables: text in lower case, ``1.0`` as ``1``; "" for what is no label."""
    if isinstance(label, bool) or not isinstance(label, str | int | float):
        return ""
    if isinstance(label, float):
        return str(int(label)) if label.is_integer() else str(label)
    return str(label).strip().lower()


def is_number(label: str) -> bool:
    """Tell whether a label is a whole number, whose meaning its own digits do not tell."""
    return label.removeprefix("-").removeprefix("+").isdecimal()


@dataclass(frozen=True)
class LabelMap:
    """The user's own meaning of labels; it goes before the table."""

    given: Mapping[str, str] = field(default_factory=dict)
    """As given: a label of the file, and POS, NORM, NEG (in any usual spelling) or ``skip``."""
    meanings: dict[str, Emotion | None] = field(init=False)
    """By the label in lower case; None: its rows are left out."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "meanings", {spelt(label): _meaning(label, to) for label, to in self.given.items()})


def _meaning(label: str, to: str) -> Emotion | None:
    if to.lower() == SKIP:
        return None
    if (found := SPELLINGS.get(to.lower())) is None:
        raise ConfigError(f"--label-map {label}={to}: want {', '.join(EMOTIONS)} or {SKIP}")
    return found


class LabelReader:
    """Reads the labels of one file, and counts what each was taken for.

    Args:
        labels: what the user said.
        numbers: every whole number among the labels of the file; None: nobody looked.
    """

    def __init__(self, labels: LabelMap, numbers: frozenset[str] | None = None) -> None:
        self._map = labels
        self.knows_numbers = numbers is not None
        self._numbers = numbers or frozenset()
        self.counts: Counter[tuple[str, str]] = Counter()
        """By label as written, and what it was taken for."""

    def read(self, label: object) -> Emotion | None:
        """Return the emotion of a label; None where the user said to leave its row out.

        Raises:
            DataError: nobody said what it means; the hint is the option that does.
        """
        name = spelt(label)
        found = self._map.meanings[name] if name in self._map.meanings else self._by_table(label, name)
        self.counts[str(label).strip(), found.value if found else SKIP] += 1
        return found

    def _by_table(self, label: object, name: str) -> Emotion:
        if name in SPELLINGS:
            return SPELLINGS[name]
        if "-1" in self._numbers and self._numbers <= SIGNED.keys() and name in SIGNED:
            return SIGNED[name]
        if is_number(name):
            numbers = sorted(self._numbers | {name}, key=int)
            raise DataError(
                f"label {name} is a number, and what {', '.join(numbers)} mean is not known", hint=_number_hint(numbers)
            )
        raise DataError(
            f"label {short_repr(label)} is not one of {', '.join(EMOTIONS)}, nor a usual name of one",
            hint=f"say what it means, as in --label-map {str(label).strip()[:20] or 'x'}=NEG (skip leaves rows out)",
        )

    def summary(self) -> str | None:
        """Return one line that says what labels were taken for, with counts; None where each is its own name."""
        if all(label == meaning for label, meaning in self.counts):
            return None
        parts = [
            f"{label} -> {meaning} ({count})" if meaning != SKIP else f"{label} left out ({count})"
            for (label, meaning), count in sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))
        ]
        return "labels: " + ", ".join(parts)


def _number_hint(numbers: list[str]) -> str:
    """Return an option that settles what numbers mean; it is an example, not a guess."""
    meanings = ["NEG", "POS"] if len(numbers) == 2 else ["NEG", "NORM", "POS"]
    pairs = ",".join(f"{number}={meaning}" for number, meaning in zip(numbers, meanings, strict=False))
    return f"say what each means, as in --label-map {pairs}"
