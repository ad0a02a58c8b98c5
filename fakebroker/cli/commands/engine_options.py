"""The options with which every command of the pipeline chooses its engine, and the engine that they choose."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from fakebroker.analysis.pipeline.extras import need_extra
from fakebroker.analysis.pipeline.progress import Progress
from fakebroker.analysis.pipeline.session import DEFAULT_MASTER, spark_session
from fakebroker.analysis.pipeline.workers_python import is_submitted
from fakebroker.cli.choice import Choice
from fakebroker.cli.exit_status import command_error
from fakebroker.protocol.errors import FakebrokerError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from fakebroker.cli.commands.work import AskWork


class EngineChoice(NamedTuple):
    """Which engine (auto, embedded or spark), and for Spark where and with which settings."""

    engine: str = "auto"
    master: str = DEFAULT_MASTER
    conf: tuple[tuple[str, str], ...] = ()


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options --engine, --master and --conf; it gets them as one argument, `choice`."""
    return _with_engine_options(command, ("auto", "embedded", "spark"), "Engine; auto is Spark for large inputs only.")


def engine_options_for_little(command: Callable[..., Any]) -> Callable[..., Any]:
    """As `engine_options`, for a command that needs so little of the tables that the embedded engine is the default."""
    return _with_engine_options(command, ("embedded", "spark"), "Engine that reads the tables.")


def _with_engine_options(command: Callable[..., Any], engines: Sequence[str], help_text: str) -> Callable[..., Any]:
    def with_choice(engine: str, master: str, conf: tuple[str, ...], **arguments: Any) -> Any:
        return command(choice=EngineChoice(engine, master, tuple(map(_setting, conf))), **arguments)

    with_choice.__name__, with_choice.__doc__ = command.__name__, command.__doc__
    with_choice.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    for option in (
        click.option("--conf", multiple=True, metavar="KEY=VALUE", help="Spark setting. Repeatable."),
        click.option(
            "--master",
            default=DEFAULT_MASTER,
            show_default=True,
            metavar="URL",
            help="Spark master, such as spark://HOST:7077.",
        ),
        click.option(
            "--engine",
            type=Choice(engines),
            default=engines[0],
            show_default=True,
            help=help_text,
        ),
    ):
        option(with_choice)
    return with_choice


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise click.BadParameter(f"{text!r} is not KEY=VALUE", param_hint="--conf")
    return key, value


@contextmanager
def chosen_engine(choice: EngineChoice, work: "AskWork") -> Iterator[tuple[Any, Progress]]:
    """The engine, and what tells of its progress. Spark ends with the block, unless it ran before.

    `work` says how much there is to do; it is called if the engine is to be chosen by that. An error of this package,
    or of a file, becomes a line on standard error and the exit status of its kind.
    """
    try:
        if choice.engine == "auto":
            choice = _by_itself(choice, work)
        need_extra("history" if choice.engine == "embedded" else "spark")
        from fakebroker.analysis.pipeline.storage_failures import storage_failures_reported

        with storage_failures_reported():
            if choice.engine == "embedded":
                from fakebroker.analysis.pipeline.duckdb_engine import DuckEngine

                yield DuckEngine(), Progress()
            else:
                yield from _spark(choice)
    except FakebrokerError as error:
        raise command_error(error) from None


def refuse_spark(choice: EngineChoice) -> None:
    """End a command with --follow for a choice of Spark."""
    if choice.engine == "spark" or choice.master != DEFAULT_MASTER or choice.conf:
        raise click.UsageError("--follow uses the embedded engine; in Spark use a stream")


@contextmanager
def embedded_engine() -> Iterator[Any]:
    """The embedded engine, new, for one round of a command that goes on. Raises FakebrokerError, also for files."""
    need_extra("history")
    from fakebroker.analysis.pipeline.duckdb_engine import DuckEngine
    from fakebroker.analysis.pipeline.storage_failures import storage_failures_reported

    with storage_failures_reported():
        yield DuckEngine()


def _by_itself(choice: EngineChoice, work: "AskWork") -> EngineChoice:
    """The choice with an engine for the work; says which, and why, on standard error."""
    if choice.master != DEFAULT_MASTER or choice.conf or is_submitted():
        return choice._replace(engine="spark")  # that is what these options are for
    need_extra("history")
    from fakebroker.analysis.pipeline.engine_choice import choose

    engine, reason = choose(work())
    click.echo(f"engine: {engine} ({reason})", err=True)
    return choice._replace(engine=engine)


def _spark(choice: EngineChoice) -> Iterator[tuple[Any, Progress]]:
    with running_spark(choice.master, dict(choice.conf)) as session:
        from fakebroker.analysis.pipeline.spark_engine import SparkEngine

        yield SparkEngine(session), Progress(context=session.sparkContext)


@contextmanager
def running_spark(master: str, conf: Mapping[str, str]) -> Iterator["SparkSession"]:
    """A session of Spark, which ends with the block unless it ran before.

    Raises MissingExtra, and SparkFailure for what goes wrong in Spark inside of the block.
    """
    need_extra("spark")
    from pyspark.sql import SparkSession

    from fakebroker.analysis.pipeline.interrupts import quiet_interrupts
    from fakebroker.analysis.pipeline.spark_failures import as_spark_failure

    was_running = SparkSession.getActiveSession() is not None
    with as_spark_failure():
        session = spark_session(master, dict(conf))
        try:
            with quiet_interrupts(session):
                yield session
        finally:
            if not was_running:
                session.stop()
