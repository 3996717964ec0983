"""Entry point: runs a command and turns every failure into one line and an exit code."""

from __future__ import annotations

import io
import logging
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from types import FrameType
from typing import Annotated, Any

import typer
from typer.main import get_command

from pipeline import __version__
from pipeline.cli.commands import audit, check, demo, evaluate, train
from pipeline.cli.compare import compare
from pipeline.cli.explain import explain
from pipeline.cli.predict import predict
from pipeline.cli.program import as_started, program_name
from pipeline.cli.report import report
from pipeline.cli.tag import tag
from pipeline.cli.tune import tune
from pipeline.errors import ConfigError, PipelineError
from pipeline.runtime.processes import follow, is_main, joined, n_processes

EXIT_BUG = 1
EXIT_INTERRUPTED = 130
SHARED = "train"
"""The command that several processes may work on (``pipeline.runtime.processes``)."""

logger = logging.getLogger(__name__)

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (demo, audit, train, predict, check, evaluate, report, explain, tune):
    app.command()(command)
app.add_typer(compare, name="compare")
app.add_typer(tag, name="tag")
app.add_typer(compare, name="compare")


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
    """Run the command line and return the exit code (0, 1 bug, 2 usage, 3 data, 4 artifact, 130 interrupted)."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    _prepare_streams()
    logging.basicConfig(format="%(message)s", level=logging.WARNING, stream=sys.stderr, force=True)
    signal.signal(signal.SIGTERM, _interrupt)
    program = get_command(app)
    _name_as_started(program)
    try:
        with joined():
            if not is_main():
                return _take_part()
            # Not program.main(): that would turn Ctrl-C and a closed pipe into exit codes of its own.
            with program.make_context(program_name().rpartition(" ")[2], [*arguments] or ["--help"]) as context:
                program.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    except PipelineError as error:
        _show(error.message, error.hint, debug="--debug" in arguments)
        return error.exit_code
    except typer.TyperException as error:
        _show(error.format_message(), "python run.py --help lists the commands and options", debug=False)
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        _show("interrupted", None, debug="--debug" in arguments)
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # the reader of our output, such as head, has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
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


def _name_as_started(command: Any) -> None:
    """Let the examples in the help of a command, and of those below it, call the program as it was started."""
    command.help = as_started(command.help or "")
    for part in getattr(command, "commands", {}).values():
        _name_as_started(part)


def _show(message: str, hint: str | None, *, debug: bool) -> None:
    if debug:
        traceback.print_exc()
    line = " ".join(message.split())
    sys.stderr.write(f"error: {line}\n" + (f"hint: {as_started(hint)}\n" if hint else ""))


def _prepare_streams() -> None:
    """Let no terminal encoding stop the program: what it cannot show is written as an escape."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
