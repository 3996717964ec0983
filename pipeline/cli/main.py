"""Entry point: runs a command and turns every failure into one line and an exit code."""

from __future__ import annotations

import errno
import io
import logging
import os
import re
import signal
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType
from typing import Annotated, Any

import typer
from typer.main import get_command

from pipeline import __version__
from pipeline.artifacts import inputs_kept
from pipeline.cli.audit import audit
from pipeline.cli.check import check
from pipeline.cli.compare import compare
from pipeline.cli.convert import convert
from pipeline.cli.demo import demo
from pipeline.cli.evaluate import evaluate
from pipeline.cli.explain import explain
from pipeline.cli.heads import heads
from pipeline.cli.match import match
from pipeline.cli.predict import predict
from pipeline.cli.program import as_started, program_name
from pipeline.cli.report import report
from pipeline.cli.say import EscapingFormatter, escaped
from pipeline.cli.tag import tag
from pipeline.cli.train import train
from pipeline.cli.tune import tune
from pipeline.errors import ConfigError, PipelineError
from pipeline.runtime.processes import end_if_launched, follow, is_main, joined, n_processes

EXIT_BUG = 1
EXIT_INTERRUPTED = 130
EXIT_CLOSED_PIPE = 141
"""As a shell has it for a process that SIGPIPE ended."""
SKIP_OPTION = "--skip-bad-rows"
SHARED = "train"
"""The command that several processes may work on (``pipeline.runtime.processes``)."""

logger = logging.getLogger(__name__)

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (demo, audit, convert, train, predict, check, evaluate, report, explain, tune):
    app.command()(command)
app.add_typer(compare, name="compare")
app.add_typer(tag, name="tag")
app.add_typer(heads, name="heads")
app.add_typer(match, name="match")


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks and debug messages.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Name the core entities of Chinese news articles and the emotion toward each.

    Start with: python run.py demo
    """
    logging.getLogger("pipeline").setLevel(logging.DEBUG if debug else logging.INFO)
    if n_processes() > 1:
        if context.invoked_subcommand != SHARED:
            raise ConfigError(f"{context.invoked_subcommand} runs in one process", hint="start it without a launcher")
        logger.info("networks are trained by %d processes, each on batches of its own", n_processes())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    It is 0, 1 bug, 2 usage, 3 data, 4 artifact, 130 interrupted, 141 output that nobody read to its end. One of several
    processes that a launcher started ends with that code instead.
    """
    _prepare_streams()
    code = _run(list(sys.argv[1:] if arguments is None else arguments))
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = _closed_pipe(code)
    end_if_launched(code)
    return code


def _closed_pipe(code: int = 0) -> int:
    """Say no more to a reader that has gone, such as head; what went wrong before stays the answer."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code or EXIT_CLOSED_PIPE


def _run(arguments: list[str]) -> int:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(EscapingFormatter("%(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    signal.signal(signal.SIGTERM, _interrupt)
    program = get_command(app)
    _name_as_started(program)
    try:
        with joined(), inputs_kept():
            if not is_main():
                return _take_part()
            # Not program.main(): that would turn Ctrl-C and a closed pipe into exit codes of its own.
            with program.make_context(program_name().rpartition(" ")[2], [*arguments] or ["--help"]) as context:
                program.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    except PipelineError as error:
        _show(error.message, _fitting(error.hint, program, arguments), debug="--debug" in arguments)
        return error.exit_code
    except typer.TyperException as error:
        _show(error.format_message(), "python run.py --help lists the commands and options", debug=False)
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        _show("interrupted", None, debug="--debug" in arguments)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        return _closed_pipe()
    except Exception as error:
        if (reason := _misuse(error)) is not None:
            _show(reason, None, debug="--debug" in arguments)
            return ConfigError.exit_code
        _show(
            f"unexpected {type(error).__name__}: {error}",
            "this is a bug; run again with --debug before the command for the traceback",
            debug="--debug" in arguments,
        )
        return EXIT_BUG
    return 0


def _take_part() -> int:
    """Train with the first process, which alone reports progress and interruptions."""
    logging.getLogger("pipeline").setLevel(logging.ERROR)
    try:
        follow()
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return 0


def _fitting(hint: str | None, command: Any, arguments: Sequence[str]) -> str | None:
    """Return a hint that fits the command: ``--skip-bad-rows`` is not for all."""
    for argument in arguments:
        command = getattr(command, "commands", {}).get(argument, command)
    known = {name for option in command.params for name in option.opts}
    if hint and SKIP_OPTION not in known:
        hint = re.sub(f", or [^,]*{SKIP_OPTION}", "", hint)
    return hint


def _misuse(error: Exception) -> str | None:
    """Return what is wrong with a path that no system can open; None for any other error."""
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, ValueError) and "embedded null" in str(error):
        return "a path holds a NUL character, which no file name can"
    return None


def _name_as_started(command: Any) -> None:
    """Let the examples in the help of a command, and of those below it, call the program as it was started."""
    command.help = as_started(command.help or "")
    for part in getattr(command, "commands", {}).values():
        _name_as_started(part)


def _show(message: str, hint: str | None, *, debug: bool) -> None:
    if debug:
        traceback.print_exc()
    line = escaped(" ".join(message.split()))
    with suppress(BrokenPipeError):
        sys.stderr.write(f"error: {line}\n" + (f"hint: {escaped(as_started(hint))}\n" if hint else ""))


def _prepare_streams() -> None:
    """Let no terminal stop the program: what its encoding lacks is an escape, a stream that is closed leads nowhere."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            _open_nowhere(number)
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _open_nowhere(number: int) -> None:
    """Take a free descriptor, or the next file that is opened, such as an answer, would get what is said."""
    try:
        os.fstat(number)
    except OSError:
        nowhere = os.open(os.devnull, os.O_RDWR)
        if nowhere != number:
            os.dup2(nowhere, number)
            os.close(nowhere)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
