"""Pictures of a run's report for docs/: light, dark, on a phone, an article, and one article explained.

python -m benchmarks.screenshots --run first --gold data/sample/test.jsonl
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from benchmarks.chromium import Chromium
from pipeline.artifacts import open_run
from pipeline.data.read import iter_articles
from pipeline.report import build_report
from pipeline.report.build import explain_article
from pipeline.report.html import explain_html, write_html

MAX_BYTES = 400_000
SHOWN = "document.querySelector('#detail .content')"


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the pictures and say how large they are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", help="run under models/; the newest by default")
    parser.add_argument("--gold", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("docs"), help="folder of the pictures")
    options = parser.parse_args(arguments)
    run = open_run(Path("models"), options.run)
    articles = {article.news_id: article for article in iter_articles(options.gold, labelled=True)}
    built = build_report(run, list(articles.values()), workers=1, gold_path=str(options.gold))
    options.out.mkdir(parents=True, exist_ok=True)
    telling = max(built.views, key=_telling)["id"]
    with tempfile.TemporaryDirectory() as name:
        english, chinese = Path(name, "en"), Path(name, "zh")
        write_html(english, built.figures, built.views, lang="en")
        write_html(chinese, built.figures, built.views, lang="zh")
        explained = Path(name, "explain.html")
        explained.write_text(explain_html(explain_article(run, articles[telling]), lang="en"), encoding="utf-8")
        link = f"article={quote(telling)}"

        def take(file: str, page: Path, *, act: Callable[[Chromium], object] | None = None, **window: Any) -> None:
            fragment = link if page.name == "index.html" and act is _shown else ""
            _picture(options.out / file, page, fragment, act, window)

        take("report-light.png", english / "index.html", size=(1280, 860))
        take("report-dark.png", english / "index.html", size=(1280, 860), dark=True, act=_misses)
        take("report-phone.png", chinese / "index.html", size=(390, 844), scale=1.5)
        take("report-article.png", chinese / "index.html", size=(1280, 860), act=_shown)
        take("report-explain.png", explained, size=(1000, 860), act=_features)


def _picture(
    path: Path, page: Path, fragment: str, act: Callable[[Chromium], object] | None, window: dict[str, Any]
) -> None:
    with Chromium(**window) as browser:
        browser.open(page, fragment)
        if act is not None:
            act(browser)
        # Two frames, so that what was done is drawn.
        browser.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        browser.picture(path)
        if browser.complaints:
            raise SystemExit("\n".join(browser.complaints))
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise SystemExit(f"{path}: {size:,} bytes, want at most {MAX_BYTES:,}")
    print(f"{path}: {size:,} bytes")


def _telling(view: dict[str, Any]) -> tuple[int, int]:
    """Prefer articles with several outcomes and emotions, and of these short ones, of which a window shows most."""
    outcomes = {entity["reason"] or str(entity["is_right_emotion"]) for entity in view["gold"]}
    outcomes |= {"spurious" for entity in view["pred"] if not entity["is_gold"]}
    emotions = {entity["emotion"] for entity in (*view["gold"], *view["pred"])}
    return len(outcomes) + len(emotions), -len(view["content"])


def _shown(browser: Chromium) -> None:
    browser.wait(SHOWN)


def _misses(browser: Chromium) -> None:
    browser.run("document.getElementById('misses').scrollIntoView()")


def _features(browser: Chromium) -> None:
    browser.wait(SHOWN)
    browser.run("for (const one of [...document.querySelectorAll('details')].slice(0, 2)) one.open = true")
    browser.run("document.querySelector('.text + .tables').scrollIntoView()")


if __name__ == "__main__":
    main()
