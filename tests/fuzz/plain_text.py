"""Files that are no JSON and no table: columns, triples, XML, brat's, dictionaries; rows mostly sound."""

from __future__ import annotations

import json
from xml.sax.saxutils import escape, quoteattr

from .inputs import Maker
from .rows import TYPES, tags

POLARITIES = (("POS", "NEG", "neutral"), ("-1", "0", "1"), ("POS", "-1", "2", "-100", "冲突", ""))
"""Of a file; those of the last are rarely all read."""


def columns(maker: Maker, size: int) -> str:
    """Return tokens with tags, a blank line after each row."""
    rng = maker.rng
    gap = rng.choice([" ", "\t", "  "])
    rows = (tags(maker, rng.randint(1, 5)) for _ in range(size))
    return "\n".join("".join(f"{_word(maker)}{gap}{tag}\n" for tag in row) for row in rows)


def triples(maker: Maker, size: int) -> str:
    """Return texts with a gap, targets and polarities, three lines each."""
    rng, said = maker.rng, _polarities(maker)
    return "".join(f"{_word(maker)}$T${_word(maker)}\n{_word(maker)}\n{rng.choice(said)}\n" for _ in range(size))


def atepc(maker: Maker, size: int) -> str:
    """Return tokens with a mark and a polarity each."""
    rng, said = maker.rng, _polarities(maker)
    rows = []
    for _ in range(size):
        label = rng.choice(said)
        marks = rng.choice([("O -100", f"B-ASP {label}"), (f"B-ASP {label}", f"I-ASP {label}", "O -100"), ("O -100",)])
        rows.append("".join(f"{_word(maker)} {mark}\n" for mark in marks))
    return "\n".join(rows)


def semeval(maker: Maker, size: int) -> str:
    """Return sentences of XML."""
    rng, said = maker.rng, _polarities(maker)
    parts = ['<?xml version="1.0" encoding="UTF-8"?>\n<sentences>\n']
    for number in range(size):
        text = f"{_word(maker)}很好{_word(maker)}"
        if rng.random() < 0.99:
            text = "".join(char for char in text if char.isprintable())
        name = text[: rng.randint(1, 4)]
        places = f' from="0" to="{len(name)}"' if rng.random() < 0.7 else ""
        parts.append(
            f'<sentence id="{number}">\n<text>{escape(text)}</text>\n<aspectTerms>\n'
            f"<aspectTerm term={quoteattr(name)} polarity={quoteattr(rng.choice(said))}{places}/>\n"
            "</aspectTerms>\n</sentence>\n"
        )
    return "".join([*parts, "</sentences>\n"])


def sohu(maker: Maker, size: int) -> str:
    """Return rows whose entities have numbers."""
    rng = maker.rng
    rows = (
        {"id": number, "content": f"{_word(maker)}青禾", "entity": {"青禾": rng.randint(-2, 2)}}
        for number in range(size)
    )
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def brat(maker: Maker, size: int) -> str:
    """Return annotations of a text that has a line for each."""
    rng = maker.rng
    marks = [f"T{n}\t{rng.choice(TYPES[:3])} {3 * n} {3 * n + 2}\t青禾\n" for n in range(size)]
    return "".join(
        rng.choice([mark, mark, mark, f"R{n}\tX Arg1:T0 Arg2:T1\n", f"#1\tAnnotatorNotes T{n}\t好\n"])
        for n, mark in enumerate(marks)
    )


def lines(maker: Maker, size: int) -> str:
    """Return plain text."""
    return "".join(f"{_word(maker)}\n" for _ in range(size))


def names(maker: Maker, size: int) -> str:
    """Return a dictionary: names alone, with numbers and tags, with tabs, or with commas; and comments."""
    rng = maker.rng
    layout = rng.choice(["{0}", "{0} {1} nz", "{0}\tnz\t{1}", "{0},{1}", "{0} {1}"])
    found = (layout.format(_word(maker), rng.randrange(9999)) for _ in range(size))
    return "".join(f"{'# ' if rng.random() < 0.02 else ''}{name}\n" for name in found)


def _polarities(maker: Maker) -> tuple[str, ...]:
    return maker.rng.choice(POLARITIES)


def _word(maker: Maker) -> str:
    return "".join(maker.text(2).split()) or "青禾"
