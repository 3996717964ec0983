"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

MAX_COUNT = 2**31 - 1
"""Of whatever a command counts."""

Limit = Annotated[int | None, typer.Option(min=1, max=MAX_COUNT, help="Use only the first N articles.", metavar="N")]
SkipBadRows = Annotated[
    bool, typer.Option("--skip-bad-rows", help="Count malformed rows and go on, instead of stopping.")
]
RunName = Annotated[str | None, typer.Option("--run", help="Run under models/.", metavar="NAME")]
Set = Annotated[
    list[str] | None, typer.Option("--set", help="One option, as in --set rerank.num_leaves=31.", metavar="KEY=VALUE")
]
Workers = Annotated[
    int | None, typer.Option(min=1, max=256, help="Processes; the run's own number by default.", metavar="N")
]
