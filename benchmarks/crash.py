"""Kill ``train`` and ``predict`` at random moments, resume, and compare with a run that nobody disturbed.

    python -m benchmarks.crash --kills 50 --seed 1

Every life of a command is one fresh run folder or output: it is started, killed by SIGKILL (the main process alone,
or its whole group), started again with ``--resume``, killed again with some chance, until it ends by itself. After each
kill every finished artifact must be whole: a manifest opens, the files of a stage noted as done have their
checksums, an output is the earlier one or the complete new one. At the end models and submission must be those of
the undisturbed run, byte for byte. Exit code 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from pipeline.artifacts import RunFolder, read_json, sha256_file

ROOT = Path(__file__).resolve().parents[1]
TINY = ROOT / "tests" / "files" / "tiny.jsonl"
N_TRAIN = 44
COPIES = 6
"""Of each tiny article in the input, so that a prediction lasts for seconds."""
AGAIN = 0.3
"""Chance that a resumed command is killed again."""
OUTPUTS = ("answer.txt", "answer.csv", "answer.jsonl")
EARLIER = b"earlier\n"
WITH_TIMES = ("figures.json", "stage.json")


class Crashes:
    """The kills, their counts, and what they broke."""

    def __init__(self, folder: Path, *, seed: int, workers: int, preset: str = "tiny") -> None:
        self.folder, self.workers, self.preset = folder, workers, preset
        self.random = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []
        lines = TINY.read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines]
        copies = [row | {"newsId": f"{row['newsId']}-{number}"} for number in range(COPIES) for row in rows]
        self.train_file, self.input_file = folder / "train.jsonl", folder / "input.jsonl"
        self.train_file.write_text("".join(f"{line}\n" for line in lines[:N_TRAIN]), encoding="utf-8")
        self.input_file.write_text("".join(f"{json.dumps(row)}\n" for row in copies), encoding="utf-8")

    def undisturbed(self) -> None:
        """Train and predict once; note the time each takes and what it gives."""
        self.seconds = {"train": self._timed(self._train("whole")), "predict": self._timed(self._predict("whole"))}
        self.models = self._models("whole")
        self.answer = [(self.folder / name).read_bytes() for name in OUTPUTS]

    def life(self, command: str) -> None:
        """Kill one training or prediction until it is let go, then compare."""
        name = f"run{self.counts['lives of train']}" if command == "train" else "whole"
        self.counts[f"lives of {command}"] += 1
        arguments = self._train(name) if command == "train" else self._predict(name)
        if command == "predict":
            for output in OUTPUTS:
                (self.folder / output).write_bytes(EARLIER)
        while self._killed(arguments, self.random.uniform(0, self.seconds[command])):
            self.counts[f"kills of {command}"] += 1
            self._check_whole(command, name)
            if self.random.random() > AGAIN:
                self._timed(arguments)
                break
        if command == "train":
            self._expect(self._models(name) == self.models, f"models of {name} differ")
            self._timed(self._predict(name))
            shutil.rmtree(self.folder / "models" / name)
        answer = [(self.folder / output).read_bytes() for output in OUTPUTS]
        self._expect(answer == self.answer, f"the submission of a killed {command} differs")
        hidden = [str(path) for path in self.folder.glob(".*") if path.is_file() and path.suffix != ".json"]
        self._expect(not hidden, f"files left over: {hidden}")

    def _killed(self, arguments: list[str], delay: float) -> bool:
        """Start a command and kill it after some seconds; False if it ended before."""
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "run.py"), *arguments],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            _, err = process.communicate(timeout=delay)
        except subprocess.TimeoutExpired:
            if self.random.random() < 0.5:
                os.kill(process.pid, signal.SIGKILL)
            else:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return True
        self._expect(process.returncode == 0, f"{arguments[0]} failed: {err.decode(errors='replace')[-500:]}")
        return False

    def _timed(self, arguments: list[str]) -> float:
        """Run a command to its end; return its seconds."""
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, str(ROOT / "run.py"), *arguments], cwd=self.folder, capture_output=True, text=True
        )
        self._expect(done.returncode == 0, f"{arguments[0]} failed: {done.stderr[-500:]}")
        return time.perf_counter() - start

    def _check_whole(self, command: str, name: str) -> None:
        """Whatever stands under its final name must be whole."""
        run = RunFolder(self.folder / "models" / name)
        if command == "predict":
            for output, complete in zip(OUTPUTS, self.answer, strict=True):
                content = (self.folder / output).read_bytes()
                self._expect(content in (EARLIER, complete), f"{output} is neither the earlier one nor the new one")
            return
        if run.manifest.is_file():
            self.counts["kills after the manifest"] += 1
            RunFolder.load(run.path)
        progress = read_json(run.progress) if run.progress.is_file() else {}
        for stage, entry in progress.items():
            for file, digest in entry["files"].items():
                is_whole = (run.path / file).is_file() and sha256_file(run.path / file) == digest
                self._expect(is_whole, f"{file} of the finished stage {stage} is broken")

    def _models(self, name: str) -> dict[str, str]:
        saved: dict[str, str] = RunFolder.load(self.folder / "models" / name).read_manifest()["files"]
        return {file: digest for file, digest in saved.items() if Path(file).name not in WITH_TIMES}

    def _train(self, name: str) -> list[str]:
        options = ["--preset", self.preset, "--set", f"workers={self.workers}", "--resume"]
        return ["train", "--run", name, "--train", str(self.train_file), *options]

    def _predict(self, name: str) -> list[str]:
        files = ["--input", str(self.input_file), "--output", OUTPUTS[0], "--details", OUTPUTS[2]]
        return ["predict", "--run", name, *files, "--workers", str(self.workers), "--resume"]

    def _expect(self, is_so: bool, fault: str) -> None:
        if not is_so:
            self.faults.append(fault)
            print(f"FAULT: {fault}", flush=True)


def main() -> int:
    """Kill until there were enough kills; print what was counted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50, help="half of train, half of predict")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--preset", default="tiny")
    options = parser.parse_args()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        crashes = Crashes(Path(name), seed=options.seed, workers=options.workers, preset=options.preset)
        crashes.undisturbed()
        print(f"undisturbed: train {crashes.seconds['train']:.1f} s, predict {crashes.seconds['predict']:.1f} s")
        for command, wanted in (("train", options.kills // 2), ("predict", options.kills - options.kills // 2)):
            while crashes.counts[f"kills of {command}"] < wanted and len(crashes.faults) < 5:
                crashes.life(command)
    for what, count in sorted(crashes.counts.items()):
        print(f"{what}: {count}")
    print(f"faults: {len(crashes.faults)} ({time.perf_counter() - start:.0f} s, seed {options.seed})")
    return 1 if crashes.faults else 0


if __name__ == "__main__":
    sys.exit(main())
