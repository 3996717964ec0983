"""``report``: where the lost points are, as one folder."""

from __future__ import annotations

import logging
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from pipeline.cli.files import MODELS, distinct_outputs

logger = logging.getLogger("pipeline.cli")


class Lang(StrEnum):
    """Language of a page."""

    EN = "en"
    ZH = "zh"


Language = Annotated[Lang, typer.Option(help="Language of the page.")]
RunName = Annotated[str | None, typer.Option("--run", help="Run under models/.", metavar="NAME")]
Workers = Annotated[
    int | None, typer.Option(min=1, max=256, help="Processes; the run's own number by default.", metavar="N")
]
Limit = Annotated[int | None, typer.Option(min=1, help="Use only the first N articles.", metavar="N")]


def report(
    gold: Annotated[Path, typer.Option(help="Labelled articles that the run was not trained on.", metavar="FILE")],
    run: RunName = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the report; models/RUN/report by default.", metavar="FOLDER")
    ] = None,
    lang: Language = Lang.EN,
    limit: Limit = None,
    workers: Workers = None,
) -> None:
    """Say where the lost points are: what each stage costs, why each entity was missed, and every article.

    Example: python run.py report --run first --gold data/sample/test.jsonl --out report
    """
    folder, figures = write_report(run, gold, out, lang, limit=limit, workers=workers)
    typer.echo(ladder_table(figures))
    typer.echo(str(folder / "report.json"))


def write_report(
    name: str | None,
    gold: Path,
    out: Path | None,
    lang: Lang,
    *,
    limit: int | None = None,
    workers: int | None = None,
) -> tuple[Path, dict[str, Any]]:
    """Write the report of a run; return its folder and figures."""
    from pipeline.artifacts import atomic_write_json, open_run
    from pipeline.read import iter_articles

    articles = list(islice(iter_articles(gold, labelled=True), limit))
    run = open_run(MODELS, name)
    folder = run.report.parent if out is None else out
    distinct_outputs(*(folder / name for name in ("report.json", "errors.csv", "index.html")), inputs=(gold,))
    logger.info("run: %s", run.path)

    from pipeline.report import build_report
    from pipeline.report.errors_table import errors_table
    from pipeline.workflow.run_config import load_run_config

    n_workers = workers or load_run_config(run.config).workers
    built = build_report(run, articles, workers=n_workers, gold_path=str(gold), lang=lang.value)
    with errors_table(folder / "errors.csv", built.views) as views:
        for _ in views:
            pass
    atomic_write_json(folder / "report.json", built.figures)
    return folder, built.figures


def ladder_table(figures: dict[str, Any]) -> str:
    """Lay ladder and attribution out as plain text."""
    lines = [f"{'':<36}{'entity F1':>10}{'+emotion':>10}{'score':>8}   95% interval      points lost"]
    for row in figures["ladder"]:
        if "+" in row["key"]:
            continue
        score = row["score"]
        bounds = "" if score["low"] is None else f"{score['low']:.4f} - {score['high']:.4f}"
        cost = "" if row["cost"] is None else f"{row['cost']:+.1f}"
        figures_ = f"{row['entity_f1']['value']:>10.4f}{row['emotion_f1']['value']:>10.4f}{score['value']:>8.4f}"
        lines.append(f"{row['key']:<36}{figures_}   {bounds:<16}{cost:>13}")
    found = figures["attribution"]
    lines += ["", f"{found['n_gold']} gold entities, {found['n_missed']} missed:"]
    lines += [f"  {reason:<34}{count:>10}" for reason, count in found["missed"].items() if count]
    lines += [f"{found['n_hits']} hits:"]
    lines += [f"  {kind:<34}{count:>10}" for kind, count in found["hits"].items()]
    lines += [f"{'spurious':<36}{found['n_spurious']:>10}"]
    return "\n".join(lines)
