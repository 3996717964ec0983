"""``explain``: one article, and what decided its answer."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.files import chosen_run, distinct_outputs
from pipeline.cli.options import RunName
from pipeline.cli.report import Lang, Language
from pipeline.cli.row_options import reads_labelled_rows
from pipeline.cli.say import say
from pipeline.errors import ConfigError, DataError

if TYPE_CHECKING:
    from pipeline.data.reading import Reading
    from pipeline.schema import Article

logger = logging.getLogger("pipeline.cli")


@reads_labelled_rows
def explain(
    title: Annotated[str | None, typer.Option(help="Title of the article.", metavar="TEXT")] = None,
    content: Annotated[str | None, typer.Option(help="Content of the article.", metavar="TEXT")] = None,
    news_id: Annotated[str | None, typer.Option("--id", help="newsId of an article of --input.", metavar="ID")] = None,
    input_file: Annotated[
        Path | None, typer.Option("--input", help="Articles, one of which is meant.", metavar="FILE")
    ] = None,
    run: RunName = None,
    out: Annotated[Path | None, typer.Option(help="Also write a page.", metavar="FILE.html")] = None,
    lang: Language = Lang.EN,
    reading: Reading | None = None,
) -> None:
    """Show one article's entities, the next candidates, and the features and attention that decided.

    Example: python run.py explain --title 砚台超市开业 --content 砚台超市今天开业，好评如潮。
    """
    article = _article(title, content, news_id, input_file, reading)
    distinct_outputs(out, inputs=(input_file,) if input_file else ())

    chosen = chosen_run(run)
    logger.info("run: %s, preset %s", chosen.path, chosen.preset)

    from pipeline.report.build import explain_article
    from pipeline.report.terminal import article_text

    view = explain_article(chosen, article)
    say(article_text(view))
    if out is not None:
        from pipeline.artifacts import atomic_write_text
        from pipeline.report.html import explain_html

        atomic_write_text(out, explain_html(view, lang=lang.value))
        say(str(out))


def _article(
    title: str | None, content: str | None, news_id: str | None, source: Path | None, reading: Reading | None
) -> Article:
    from pipeline.data.read import iter_articles
    from pipeline.schema import Article

    if (title is not None or content is not None) == (news_id is not None):
        raise ConfigError("want an article: --title and --content, or --id with --input FILE")
    if news_id is None:
        if source is not None:
            raise ConfigError("--input goes with --id, not with --title and --content")
        return Article("article", title or "", content or "")
    if source is None:
        raise ConfigError("--id names an article of a file: give --input FILE")
    found = next((article for article in iter_articles(source, reading=reading) if article.news_id == news_id), None)
    if found is None:
        raise DataError(f"{source}: holds no article {news_id}")
    return found
