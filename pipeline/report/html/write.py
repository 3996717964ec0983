"""Writing the report's page and the page of a single article."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pipeline.artifacts import atomic_write_text, temporary_path, write_errors
from pipeline.report.html.data_files import rounded, write_data
from pipeline.report.html.markup import join, tag
from pipeline.report.html.page import EXPLAIN_SCRIPTS, document, report_page
from pipeline.report.html.texts import texts


def write_html(folder: Path, figures: Mapping[str, Any], views: Iterable[Mapping[str, Any]], *, lang: str) -> Path:
    """Write index.html and the article files in ``data/`` beside it; an earlier report there is replaced.

    Page and article files carry the same checksum: a page that meets files of another report says so.

    Args:
        folder: of the report; made if missing.
        figures: the content of ``report.json``.
        views: the articles in gold order, read once.
        lang: of the labels, ``en`` or ``zh``.

    Returns:
        The page.

    Raises:
        ConfigError: the folder cannot be written, or the language is not known.
    """
    words = texts(lang)
    data, page = folder / "data", folder / "index.html"
    with write_errors(data):
        folder.mkdir(parents=True, exist_ok=True)
        temporary, old = temporary_path(data), temporary_path(data)
        temporary.mkdir()
        try:
            about = write_data(temporary, views)
            content = report_page(figures, words, lang=lang, data={"texts": words, "report": about})
            if data.exists():
                os.replace(data, old)
            os.replace(temporary, data)
            atomic_write_text(page, content)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
            shutil.rmtree(old, ignore_errors=True)
    return page


def explain_html(view: Mapping[str, Any], *, lang: str) -> str:
    """Return one article as a page of its own: entities, emotions, features, next candidates, attention.

    Args:
        view: the article; ``gold`` may be empty where there are no labels.
        lang: of the labels, ``en`` or ``zh``.

    Raises:
        ConfigError: the language is not known.
    """
    words = texts(lang)
    button = tag("button", "◐", id="theme", type="button", title=words["theme"], aria_label=words["theme"])
    header = tag("header", tag("nav", tag("b", words["explain_title"])), button, class_="top")
    main = tag("main", tag("noscript", tag("p", words["no_script"])), tag("article", id="detail", class_="alone"))
    title = f"{words['explain_title']} · {view['title'] or view['id']}"
    data = {"texts": words, "view": rounded(view)}
    return document(title, join([header, main]), lang=lang, scripts=EXPLAIN_SCRIPTS, data=data)
