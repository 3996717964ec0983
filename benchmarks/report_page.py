"""How long a report of invented articles takes to write, and its page to appear, in headless Chromium.

python -m benchmarks.report_page --articles 5000
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.chromium import Chromium
from benchmarks.invented_report import figures, views
from pipeline.report.html import write_html

PAINT = "performance.getEntriesByType('paint').find((one) => one.name === 'first-contentful-paint')?.startTime"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the times as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--articles", type=int, default=5000)
    parser.add_argument("--chars", type=int, default=1500, help="of an article's text")
    options = parser.parse_args(arguments)
    n = options.articles
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seconds = -time.perf_counter()
        write_html(folder, figures(n), views(n, n_chars=options.chars), lang="en")
        seconds += time.perf_counter()
        index = sum(path.stat().st_size for path in (folder / "data").glob("index-*.js"))
        whole = sum(path.stat().st_size for path in (folder / "data").iterdir())
        rows = [("written (articles invented meanwhile)", f"{seconds:.1f} s")]
        rows += [("index.html", _size((folder / "index.html").stat().st_size))]
        rows += [("index of the list", _size(index)), ("all articles", _size(whole - index))]
        rows += _in_browser(folder / "index.html", n)
    print(f"| {n:,} articles of {options.chars:,} characters | |\n| --- | --- |")
    for label, value in rows:
        print(f"| {label} | {value} |")


def _in_browser(page: Path, n: int) -> list[tuple[str, str]]:
    """Open the page and use it."""
    listed = f"document.querySelector('#matches').textContent === '{n:,} of {n:,} articles'"
    with Chromium() as browser:
        started = time.perf_counter()
        browser.open(page)
        browser.wait(PAINT)
        paint = browser.run(PAINT) / 1000
        browser.wait(listed, seconds=60)
        rows = [("first paint", f"{paint:.2f} s"), ("list complete", f"{time.perf_counter() - started:.2f} s")]
        started = time.perf_counter()
        browser.press("j")
        browser.wait("document.querySelector('#detail .content')")
        rows.append(("an article opens", f"{time.perf_counter() - started:.2f} s"))
        started = time.perf_counter()
        browser.run("document.getElementById('search_texts').checked = true; document.getElementById('search').focus()")
        browser.call("Input.insertText", text="no such words")
        browser.wait("document.documentElement.dataset.searched", seconds=120)
        rows.append(("all texts searched", f"{time.perf_counter() - started:.2f} s"))
        rows.append(("memory of the page's scripts", _size(browser.run("performance.memory.usedJSHeapSize"))))
        if browser.complaints:
            raise SystemExit("\n".join(browser.complaints))
    return rows


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.0f} kB"


if __name__ == "__main__":
    main()
