"""Train and predict on a disk that fills up: one line, exit code 2, no damage, and a resume once there is room.

    mkdir /tmp/small && mount -t tmpfs -o size=2m tmpfs /tmp/small
    python -m benchmarks.disk_full --folder /tmp/small --steps 8

The folder must lie on a small file system of its own. A file fills it up but for some KiB, more at every step. After
each failure the file goes away, and the same command with ``--resume`` must give what an undisturbed run gives.
Exit code 1 if anything is not as it should be.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TINY = ROOT / "tests" / "files" / "tiny.jsonl"
OUTPUTS = ("answer.txt", "answer.csv", "answer.jsonl")


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run a command in a folder; return its exit code and standard error."""
    done = subprocess.run([sys.executable, str(ROOT / "run.py"), *arguments], cwd=folder, capture_output=True)
    return done.returncode, done.stderr.decode(errors="replace")


def fill(folder: Path, free_kib: int) -> Path:
    """Fill the file system up but for some KiB."""
    path = folder / "filler"
    stat = os.statvfs(folder)
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(stat.f_bavail * stat.f_bsize - free_kib * 1024, 1))
    return path


def faults_of(folder: Path, code: int, err: str) -> list[str]:
    """List what a failure on a full disk may not do."""
    lines = [line for line in err.splitlines() if line.startswith(("error:", "Traceback", "  File", "---"))]
    faults = [] if len(lines) == 1 and "cannot be written" in lines[0] else [f"not one line: {lines or err[-200:]}"]
    faults += [] if code == 2 else [f"exit code {code}"]
    return faults + [f"left over: {path}" for path in folder.rglob("*.tmp")]


def main() -> int:
    """Fill, fail, make room, resume, compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=8)
    options = parser.parse_args()
    folder, faults, n_failed = options.folder, [], 0
    with tempfile.TemporaryDirectory() as name:
        rows = [json.loads(line) for line in TINY.read_text(encoding="utf-8").splitlines()]
        train_file, input_file = Path(name) / "train.jsonl", Path(name) / "input.jsonl"
        train_file.write_text("".join(f"{json.dumps(row)}\n" for row in rows[:44]), encoding="utf-8")
        copies = [row | {"newsId": f"{row['newsId']}-{number}"} for number in range(3) for row in rows]
        input_file.write_text("".join(f"{json.dumps(row)}\n" for row in copies), encoding="utf-8")
        train = ["train", "--preset", "tiny", "--set", "workers=1", "--train", str(train_file), "--run", "r"]
        predict = ["predict", "--force", "--run", "r", "--input", str(input_file), "--workers", "1"]
        predict += ["--output", OUTPUTS[0], "--details", OUTPUTS[2]]
        codes = [run(Path(name), *command)[0] for command in (train, predict)]
        expected = [(Path(name) / output).read_bytes() for output in OUTPUTS]
        used = sum(path.stat().st_size for path in (Path(name) / "models").rglob("*") if path.is_file())
        print(f"undisturbed: exit codes {codes}, run folder {used // 1024} KiB")
        needed = {"train": used // 1024, "predict": 2 * sum(map(len, expected)) // 1024}
        for command in (train, predict):
            for step in range(options.steps):
                if command is train:
                    shutil.rmtree(folder / "models", ignore_errors=True)
                else:
                    for output in OUTPUTS:
                        (folder / output).write_bytes(b"earlier\n")
                free = step * needed[command[0]] // options.steps
                filler = fill(folder, free)
                code, err = run(folder, *command)
                filler.unlink()
                if code:
                    n_failed += 1
                    found = faults_of(folder, code, err)
                    if command is predict and any((folder / output).read_bytes() != b"earlier\n" for output in OUTPUTS):
                        found.append("an earlier output was touched")
                    faults += [f"{command[0]} with {free} KiB: {fault}" for fault in found]
                    code, err = run(folder, *command, "--resume")
                if code:
                    faults.append(f"{command[0]} with {free} KiB, resumed: {err[-200:]}")
                if command is train:
                    run(folder, *predict)
                if [(folder / output).read_bytes() for output in OUTPUTS] != expected:
                    faults.append(f"the submission after {command[0]} with {free} KiB differs")
            print(f"{command[0]}: {n_failed} failures so far")
    for fault in faults:
        print(f"FAULT: {fault}")
    print(f"failures on a full disk: {n_failed}, faults: {len(faults)}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
