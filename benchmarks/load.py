"""Predict tens of thousands of articles: nothing lost, order kept, memory flat, and a kill in the middle does no harm.

    python -m benchmarks.load --run first --source data/sample/train.jsonl --articles 80000 --kill

Makes articles by perturbing those of the source files (sentences are dropped, repeated, swapped; digits change), gives
each a newsId of its own, predicts with a run under ``models/`` and watches the memory of all processes of the command
together. With ``--kill`` the prediction is killed half-way and resumed; with ``--compare`` it is also run once
undisturbed, and the two must agree byte by byte. Exit code 1 if anything is not as it should be.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.data.read import iter_articles
from pipeline.schema import Article
from pipeline.submission import check_submission

RUN_PY = Path(__file__).resolve().parents[1] / "run.py"
SAMPLE_S = 0.5
WARM_UP = 2000
"""Articles after which memory may not grow any more."""
MAX_GROWTH = 0.05
"""Of the median of memory after the warm-up to that of the last quarter."""


@dataclass
class Watched:
    """A prediction that was watched until it ended or was killed."""

    code: int
    seconds: float
    n_done: int
    message: str
    cpu_seconds: float = 0.0
    """Of all its processes; of a killed prediction only what its main process used."""
    samples: list[tuple[int, float]] = field(default_factory=list)
    """Answers so far, and MiB of all processes together."""


def perturbed(articles: list[Article], n_articles: int, seed: int) -> Iterator[dict[str, str]]:
    """Yield rows made from the articles in turn, no two alike but by chance."""
    rng = random.Random(seed)
    for number in range(n_articles):
        article = articles[number % len(articles)]
        sentences = re.findall(r"[^。！？\n]*[。！？\n]?", article.content)
        kept = [sentence for sentence in sentences if rng.random() > 0.1]
        if len(kept) > 1:
            first, second = rng.sample(range(len(kept)), 2)
            kept[first], kept[second] = kept[second], kept[first]
            kept.insert(first, kept[second])
        content = re.sub(r"\d", lambda match: str(rng.randrange(10)), "".join(kept))
        yield {"newsId": f"load{number:07}", "title": article.title, "content": content}


def watch(arguments: list[str], part: Path, *, kill_at: int | None = None) -> Watched:
    """Run a prediction, sampling its memory; kill it once so many answers are noted."""
    start, cpu_start = time.perf_counter(), cpu_of_children()
    found = Watched(0, 0.0, 0, "")
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, str(RUN_PY), *arguments], stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True
        )
        offset = 0
        while process.poll() is None:
            time.sleep(SAMPLE_S)
            if part.exists():
                with part.open("rb") as file:
                    file.seek(offset)
                    block = file.read()
                offset += len(block)
                found.n_done += block.count(b"\n") - (1 if offset == len(block) and block else 0)  # its first line
            found.samples.append((found.n_done, memory_of(process.pid)))
            if kill_at is not None and found.n_done >= kill_at:
                os.killpg(process.pid, signal.SIGKILL)
                break
        process.wait()
        errors.seek(0)
        found.message = errors.read().decode(errors="replace")[-300:].strip()
    found.code, found.seconds = process.returncode, time.perf_counter() - start
    found.cpu_seconds = cpu_of_children() - cpu_start
    return found


def cpu_of_children() -> float:
    """Return the CPU seconds of all processes that have ended so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def memory_of(group: int) -> float:
    """Return the MiB that the processes of a group hold in memory (pages that they share count in each)."""
    pages = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[2]) == group:
                pages += int(fields[21])
        except (OSError, IndexError):  # it ended meanwhile
            continue
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def growth(samples: list[tuple[int, float]], n_articles: int) -> tuple[float, float]:
    """Return the median memory right after the warm-up, and that of the last quarter."""
    begin = min(WARM_UP, n_articles // 4)
    early = [memory for done, memory in samples if begin <= done < 2 * begin]
    late = [memory for done, memory in samples if 3 * n_articles // 4 <= done]
    return (statistics.median(early) if early else 0.0, statistics.median(late) if late else 0.0)


def report_memory(watched: Watched, n_articles: int) -> list[str]:
    """Print how memory developed over the answers seen, and return a fault where it grew."""
    early, late = growth(watched.samples, n_articles)
    if not early:  # a resumed prediction has its first half at once
        return []
    peak = max(memory for _, memory in watched.samples)
    print(f"memory: {early:.0f} MiB after the warm-up, {late:.0f} MiB in the last quarter, {peak:.0f} MiB at most")
    return ["memory grows"] if late > early * (1 + MAX_GROWTH) else []


def main() -> int:
    """Predict, kill, resume, check; print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", required=True)
    parser.add_argument("--source", type=Path, action="append", required=True, help="may be given several times")
    parser.add_argument("--articles", type=int, default=80_000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--compare", action="store_true")
    options = parser.parse_args()
    articles = [article for path in options.source for article in iter_articles(path, labelled=False)]
    faults = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, output = folder / "input.jsonl", folder / "answer.txt"
        with source.open("w", encoding="utf-8") as file:
            for row in perturbed(articles, options.articles, options.seed):
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        print(f"{options.articles:,} articles from {len(articles):,}, {source.stat().st_size / 2**20:.0f} MiB")
        arguments = ["predict", "--run", options.run, "--input", str(source), "--workers", str(options.workers)]
        part = folder / ".answer.txt.part"
        resume: list[str] = []
        if options.kill:
            broken = watch([*arguments, "--output", str(output)], part, kill_at=options.articles // 2)
            print(f"killed after {broken.n_done:,} answers and {broken.seconds:.0f} s (exit code {broken.code})")
            faults += report_memory(broken, broken.n_done)
            if output.exists() or not part.exists():
                faults.append("the kill left a finished file, or nothing to go on with")
            resume = ["--resume"]
        done = watch([*arguments, "--output", str(output), *resume], part)
        print(f"finished after {done.seconds:.0f} s, {done.cpu_seconds:.0f} s of CPU time (exit code {done.code})")
        if done.code:
            faults.append(done.message)
        else:
            wanted = [f"load{number:07}" for number in range(options.articles)]
            problems = check_submission(output, wanted)
            lines = output.read_bytes().count(b"\n")
            print(f"lines {lines:,}, problems {len(problems)}")
            faults += [str(problem) for problem in problems[:3]]
            faults += report_memory(done, options.articles)
            left = sorted(path.name for path in folder.iterdir())
            if left != [".answer.txt.json", "answer.csv", "answer.txt", "input.jsonl"]:
                faults.append(f"files left over: {left}")
        if options.compare and not done.code:
            again = watch([*arguments, "--output", str(folder / "again.txt")], folder / ".again.txt.part")
            same = again.code == 0 and (folder / "again.txt").read_bytes() == output.read_bytes()
            print(f"undisturbed: {again.seconds:.0f} s, {again.cpu_seconds:.0f} s of CPU time, same bytes: {same}")
            faults += report_memory(again, options.articles) + ([] if same else ["the undisturbed prediction differs"])
    for fault in faults:
        print(f"FAULT: {fault}")
    print(f"faults: {len(faults)}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
