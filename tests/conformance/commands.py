"""Kinds cli and cli_predict: commands as processes in a folder that holds a trained run."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.data.read import iter_articles
from pipeline.submission import check_submission, read_submission

from .framework import Adapter, Given, Tools, as_line, at_most, equals, file_of, mentions_all, mentions_none

if TYPE_CHECKING:
    from tests.support.command_line import Done

INTERRUPTED = """
import os, signal, sys
from pipeline.submission import SubmissionWriter
write, n_written = SubmissionWriter.write, 0
def write_and_count(self, prediction):
    global n_written
    write(self, prediction)
    n_written += 1
    if n_written == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGINT)
SubmissionWriter.write = write_and_count
from pipeline.cli import main
raise SystemExit(main(sys.argv[2:]))
"""
"""run.py, but Ctrl-C comes after so many articles (first argument)."""

OLD_ANSWER = "earlier\t\t\n"


@dataclass(frozen=True)
class Ran:
    """A finished command, its input and the upload file it was to write."""

    done: Done
    cwd: Path
    source: Path | None
    target: Path | None
    before: bytes | None
    """What stood in place of the target."""

    @property
    def content(self) -> bytes:
        """Bytes of the target."""
        assert self.target is not None
        return self.target.read_bytes()

    @property
    def lines(self) -> list[str]:
        """Lines of the target; they end at LF."""
        return self.content.decode("utf-8").split("\n")[:-1]

    @property
    def ids(self) -> list[str]:
        """The newsIds of the input."""
        assert self.source is not None
        return [article.news_id for article in iter_articles(self.source, labelled=False)]

    @property
    def is_complete(self) -> bool:
        """Whether the target answers every article of the input without a fault."""
        return bool(self.target and self.target.is_file() and not check_submission(self.target, self.ids))

    @property
    def is_untouched(self) -> bool:
        """Whether the target is absent, or the file that stood there."""
        present = bool(self.target and self.target.is_file())
        return not present if self.before is None else present and self.content == self.before

    @property
    def leftovers(self) -> list[str]:
        """Temporary files left behind."""
        return sorted(str(path.relative_to(self.cwd)) for path in self.cwd.rglob("*.tmp"))


def _invent(n_articles: int) -> list[dict[str, str]]:
    return [
        {"newsId": f"case{n}", "title": f"青禾{n}号开通", "content": f"青禾{n}号今日开通，青禾{n}号好评如潮。"}
        for n in range(n_articles)
    ]


def _write_input(given: Given, folder: Path) -> Path:
    articles = given.get("articles")
    if isinstance(articles, int):
        articles = _invent(articles)
    if articles is None:
        return file_of(given, folder, name="input.jsonl", lists=("lines", "rows"))
    path = folder / "input.jsonl"
    path.write_text("".join(f"{as_line(row)}\n" for row in articles), encoding="utf-8")
    return path


def _write_files(files: Mapping[str, Any], folder: Path) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Mapping):
            path.write_bytes(base64.b64decode(content["b64"]))
        elif isinstance(content, str):
            path.write_text(content, encoding="utf-8", newline="")
        else:
            path.write_text("".join(f"{as_line(row)}\n" for row in content), encoding="utf-8")


def _value(argv: Sequence[str], option: str) -> str | None:
    return argv[argv.index(option) + 1] if option in argv[:-1] else None


def cli(given: Given, tools: Tools) -> Ran:
    """Run a command; options that name no input, run or output get those of the case's folder."""
    argv = [str(part) for part in given["argv"]]
    folder = tools.tmp_path
    _write_files(given.get("files", {}), folder)
    if argv[:1] == ["predict"]:
        tools.trained().copy_to(folder)
    source = _write_input(given, folder) if "articles" in given else None
    option = {"predict": "--input", "train": "--train"}.get(argv[0] if argv else "")
    if source and option and option not in argv:
        argv += [option, source.name]
    if argv[:1] == ["train"] and not {"--preset", "--config"} & set(argv):
        argv += ["--preset", "tiny"]
    if argv[:1] == ["predict"] and "--output" not in argv:
        argv += ["--output", "answer.txt"]
    target = folder / name if (name := _value(argv, "--output")) else None
    before = None
    if target and given.first("existing_target", default=False):
        before = OLD_ANSWER.encode()
        argv += ["--force"] if argv[:1] == ["predict"] else []
        target.write_bytes(before)
    env = {name: str(value) for name, value in given.get("env", {}).items()}
    after = given.get("interrupt_after_articles")
    code, more = (None, []) if after is None else (INTERRUPTED, [str(after)])
    return Ran(tools.cli.run(*more, *argv, cwd=folder, env=env, code=code), folder, source, target, before)


def cli_predict(given: Given, tools: Tools) -> Ran:
    """Predict the articles of the case."""
    folder = tools.tmp_path
    tools.trained().copy_to(folder)
    source = _write_input(given, folder)
    target = folder / "answer.txt"
    options = [str(part) for part in given.first("argv", "options", default=[])]
    env = {name: str(value) for name, value in given.get("env", {}).items()}
    argv = ["predict", "--input", source.name, "--output", target.name, *options]
    if "workers" in given:
        argv += ["--workers", str(given["workers"])]
    done = tools.cli.run(*argv, cwd=folder, env=env)
    return Ran(done, folder, source, target, None)


def _is_utf8(ran: Ran) -> bool:
    try:
        ran.content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _exists(names: Sequence[str], ran: Ran, *, wanted: bool) -> None:
    for name in names:
        assert (ran.cwd / name).exists() == wanted, name


def _absent_or_complete(ran: Ran) -> bool:
    return (ran.is_untouched or ran.is_complete) and not ran.leftovers


def _answers(ran: Ran, wanted: Mapping[str, Any]) -> None:
    """Compare chosen entities by article: names, or [name, emotion] pairs."""
    answers = read_submission(ran.target)
    for news_id, entities in wanted.items():
        found = answers[news_id]
        pairs = any(not isinstance(entity, str) for entity in entities)
        assert [[e.name, e.emotion.value] if pairs else e.name for e in found] == entities


def _surfaces_are_slices(ran: Ran) -> bool:
    answers = read_submission(ran.target)
    return all(
        entity.name in article.title or entity.name in article.content
        for article in iter_articles(ran.source, labelled=False)
        for entity in answers[article.news_id]
    )


def _one_error_line(ran: Ran) -> bool:
    try:
        return bool(ran.done.message)
    except AssertionError:
        return False


_CHECKS = {
    "exit_code": equals(lambda ran: ran.done.code),
    "exit_codes": lambda ran, wanted: _one_of(ran.done.code, wanted),
    "stderr_mentions": mentions_all(lambda ran: ran.done.err),
    "stderr_must_not_mention": mentions_none(lambda ran: ran.done.err),
    "stdout_mentions": mentions_all(lambda ran: ran.done.out),
    **dict.fromkeys(("message_mentions", "error_mentions"), mentions_all(lambda ran: ran.done.err + ran.done.out)),
    "no_traceback": equals(lambda ran: "Traceback" not in ran.done.err),
    "traceback": equals(lambda ran: "Traceback" in ran.done.err),
    **dict.fromkeys(("one_error_line", "one_line_error", "single_error_line"), equals(_one_error_line)),
    "target_file_absent_or_complete": equals(_absent_or_complete),
    "target_file_absent": equals(lambda ran: not ran.target.exists()),
    "target_file_complete": equals(lambda ran: ran.is_complete),
    "existing_target_untouched": equals(lambda ran: ran.is_untouched),
    **dict.fromkeys(("no_temporary_files", "no_half_written_file"), equals(lambda ran: not ran.leftovers)),
    "files_exist": lambda ran, wanted: _exists(wanted, ran, wanted=True),
    "files_absent": lambda ran, wanted: _exists(wanted, ran, wanted=False),
    **dict.fromkeys(("lines", "n_lines"), equals(lambda ran: len(ran.lines))),
    "output_is_valid_utf8": equals(_is_utf8),
    "no_bom": equals(lambda ran: not ran.content.startswith(b"\xef\xbb\xbf")),
    **dict.fromkeys(("lf_only", "no_crlf"), equals(lambda ran: b"\r" not in ran.content)),
    **dict.fromkeys(("newsIds", "ids", "order"), equals(lambda ran: [line.split("\t")[0] for line in ran.lines])),
    "bytes": lambda ran, wanted: _same(ran.content.decode("utf-8"), wanted),
    **dict.fromkeys(("valid", "submission_valid", "check_ok"), equals(lambda ran: ran.is_complete)),
    "max_entities": at_most(lambda ran: max(map(len, read_submission(ran.target).values()))),
    "entities": _answers,
    **dict.fromkeys(("empty_ids", "empty_lines"), lambda ran, wanted: _empty(ran, wanted)),
    "must_not_contain": mentions_none(lambda ran: ran.content.decode("utf-8")),
    "surface_must_be_slice": equals(_surfaces_are_slices),
}


def _one_of(code: int, wanted: Sequence[int]) -> None:
    assert code in wanted


def _same(found: Any, wanted: Any) -> None:
    assert found == wanted


def _empty(ran: Ran, wanted: Sequence[str]) -> None:
    assert [line for line in ran.lines if line.endswith("\t\t")] == [f"{news_id}\t\t" for news_id in wanted]


CLI = Adapter(cli, _CHECKS)
CLI_PREDICT = Adapter(cli_predict, _CHECKS)
