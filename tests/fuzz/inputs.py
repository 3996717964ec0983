"""How inputs are generated and counted.

Hypothesis draws fragments and a seed; ``Maker`` puts texts together from them, many in one example, so that the
overhead of an example is shared. An example with k texts counts as k inputs. A failure names its input.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

Item = TypeVar("Item")

QUICK_INPUTS = 6_000
LONG_INPUTS = int(os.environ.get("FUZZ_INPUTS", "1000000"))
"""Of all properties together."""
COUNTS: Counter[str] = Counter()
"""Inputs by property, told at the end of the session."""

TRAPS = (
    *("&amp;", "&nbsp;", "&#x1F600;", "&amp;lt;", "&#0;", "&zzz;", "&", ";", "<p>", "</script>", "<", ">", "<!--"),
    *("http://a.cn/x?y=1", "https://a.cn/新闻/1.html", "www.a.com"),
    *("《", "》", "“", "”", "「", "」", "(", ")", "[", "]", "-", "—"),
    *("。", "！", "?", ".", ",", "\t", " ", "\u3000", "\n", "\r\n", "\r", "\x0b", "\x1c", "\x85", "\u2028", "\u2029"),
    *("\x00", "\x1b[31m", "\u200b", "\u200d", "\ufeff", "\u202e", "\xad", "\ufe0f", "\ud800", "\udfff", "\U0010ffff"),
    *("ﬁ", "İ", "ß", "…", "Ａ", "１", "e\u0301", "㍿", "﷽", "ﾞ", "ᄒ", "ᅡ", "👩\u200d👧", "𠮷", "\u3164", "\u2800"),
    *("青禾科技", "砚台超市", "林知远", "发布会", "好评如潮"),
    *("nova", "nova 2", "5g", "c++", "a", "7", "NA", "null", "007"),
)
"""Pieces on which text processing stumbles, and plain words between them."""

fragments = st.lists(st.text(st.characters(), max_size=6), min_size=1, max_size=8)


class Maker:
    """Makes the inputs of one example from its fragments."""

    def __init__(self, drawn: list[str], seed: int) -> None:
        self.rng = random.Random(seed)
        self._pieces = [*drawn, *self.rng.sample(TRAPS, 12)]

    def text(self, max_pieces: int = 10) -> str:
        """Return some pieces one after the other."""
        return "".join(self.rng.choices(self._pieces, k=self.rng.randint(0, max_pieces)))

    def sound_text(self, max_pieces: int = 10) -> str:
        """Return a text that UTF-8 can hold."""
        return self.text(max_pieces).encode("utf-8", "replace").decode()

    def damaged(self, content: bytes) -> bytes:
        """Change, insert, repeat or cut some bytes."""
        found = bytearray(content)
        for _ in range(self.rng.randint(1, 3)):
            at = self.rng.randint(0, len(found))
            kind = self.rng.randrange(4)
            if kind == 0 and at < len(found):
                found[at] = self.rng.randrange(256)
            elif kind == 1:
                found[at:at] = self.rng.choice(
                    [b"\n", b"\t", b",", b'"', b"\xff", b"\r", b"{", b"\x00", b"\xef\xbb\xbf"]
                )
            elif kind == 2:
                found[at:at] = found[at : at + self.rng.randint(1, 30)]
            else:
                del found[at : at + self.rng.randint(1, 10)]
        return bytes(found)


@dataclass(frozen=True)
class Property:
    """Something that must hold for any input.

    Args:
        check: gets a maker and how many inputs to make of it; asserts. It may get a folder, too.
        share: of all inputs.
        size: inputs of one example.
    """

    check: Callable[..., None]
    share: float
    size: int
    needs_folder: bool = False


def run(name: str, prop: Property, n_inputs: int, folder: Any) -> int:
    """Check a property on its share of the inputs; return how many there were."""
    wanted = max(1, round(n_inputs * prop.share))
    size = min(prop.size, wanted)
    extra = [folder] if prop.needs_folder else []

    @settings(
        max_examples=-(-wanted // size),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    @given(fragments, st.integers(0, 2**63))
    def example(drawn: list[str], seed: int) -> None:
        prop.check(Maker(drawn, seed), size, *extra)
        COUNTS[name] += size

    before = COUNTS[name]
    example()
    return COUNTS[name] - before


def naming(check: Callable[[Item], None], item: Item) -> None:
    """Check one item; a failure names it."""
    try:
        check(item)
    except Exception as error:
        error.add_note(f"input: {item!r}")
        raise
