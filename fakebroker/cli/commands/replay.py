"""`fakebroker replay`: play a recorded session into fakebroker or a real Kafka, and compare."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

import click

from fakebroker.cli.commands.kafka_options import kafka_options
from fakebroker.cli.exit_status import ExitStatus, errors_end_the_command
from fakebroker.client.security import ClientConfig
from fakebroker.scenarios.recording.replay import Mismatch, Replay, Replayed
from fakebroker.scenarios.recording.survey import Survey, survey

SHOWN_DIFFERENCES = 20


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE")
@kafka_options("--against", "Play in real time against this Kafka cluster.")
@click.option("--as", "as_release", metavar="RELEASE", help="Emulate this Kafka release. [default: the recorded one]")
@click.option(
    "--config", "config", multiple=True, metavar="SETTING=VALUE", help="Broker setting by its Kafka name. Repeatable."
)
@click.option("--verbose", is_flag=True, help="Show every difference, including explained ones.")
def replay(
    file: Path, against: ClientConfig | None, as_release: str | None, config: tuple[str, ...], verbose: bool
) -> None:
    """Play the requests of a recorded session and compare each answer.

    FILE is a session of `fakebroker record`. It is played in virtual time with the recorded timing, against a broker
    that starts as the recorded one did. Ids, epochs and times are compared by meaning. The exit status is 1 if a
    difference is not explained.
    """
    if against and (as_release or config):
        raise click.UsageError("--as and --config cannot be used with --against: they are for the built-in broker")
    shown = _Shown(file, verbose, sys.stdout)
    with errors_end_the_command():
        found = survey(file)
        if against:
            from fakebroker.scenarios.recording.tcp_target import tcp_target

            result = Replay(found, tcp_target(found, against), shown.tell).play(file)
        else:
            result = replay_file(file, found, shown.tell, as_release, dict(_setting(each) for each in config))
    _summarize(file, found, result, shown)
    if not result.is_good:
        raise SystemExit(ExitStatus.FAILED)


def replay_file(
    file: Path,
    found: Survey,
    tell: Callable[[Mismatch], None],
    as_release: str | None = None,
    settings: dict[str, str] | None = None,
) -> Replayed:
    """Replay in virtual time. Bugs of ours that it meets are in the notes, and count as unexplained."""
    from fakebroker.scenarios.dialogue.run import internal
    from fakebroker.scenarios.recording.sim_target import sim_target

    target, broker = sim_target(found, as_release, settings)
    result = Replay(found, target, tell).play(file)
    result.notes += [internal(error) for error in broker.errors]
    result.unexplained += len(broker.errors)
    return result


def _setting(text: str) -> tuple[str, str]:
    name, is_given, value = text.partition("=")
    if not is_given:
        raise click.BadParameter(f"{text!r} is not SETTING=VALUE", param_hint="--config")
    return name, value


class _Shown:
    """Prints differences as they are found: all when verbose, else the first that are not explained."""

    def __init__(self, file: Path, verbose: bool, out: TextIO) -> None:
        self._file = file
        self._verbose = verbose
        self._out = out
        self.hidden = 0
        self._shown = 0

    def tell(self, mismatch: Mismatch) -> None:
        if not self._verbose and (mismatch.reason is not None or self._shown >= SHOWN_DIFFERENCES):
            self.hidden += mismatch.reason is None
            return
        self._shown += mismatch.reason is None
        because = "" if mismatch.reason is None else f" (explained: {mismatch.reason})"
        click.echo(f"{self._file}:{mismatch.line}: {mismatch.title}: {mismatch.text}{because}", file=self._out)


def _summarize(file: Path, found: Survey, result: Replayed, shown: _Shown) -> None:
    if shown.hidden:
        click.echo(f"and {shown.hidden} more differences (--verbose)")
    for note in dict.fromkeys([*([found.cut] if found.cut else []), *result.notes]):
        click.echo(f"note: {note}")
    for title, count in sorted(result.unserved.items()):
        click.echo(f"not sent, because fakebroker does not support it: {title} ({count})")
    for reason, count in sorted(result.explained.items()):
        click.echo(f"explained: {count} x {reason}")
    unanswered = f", {result.unanswered} requests without an answer in the file" if result.unanswered else ""
    click.echo(
        f"{file}: {result.as_recorded} of {result.answers} answered as recorded, "
        f"{result.explained.total()} differences explained, {result.unexplained} unexplained{unanswered}"
    )
