"""The command line. `fakebroker serve` is a broker in a process of its own."""

import signal
import sys
from typing import TYPE_CHECKING, Any

import click

from fakebroker.errors import FakebrokerError

if TYPE_CHECKING:
    from fakebroker.broker import AsyncFakeBroker
    from fakebroker.control.door import Door
    from fakebroker.net.ports import Ports
    from fakebroker.snapshot.snapshot import Snapshot

DEFAULT_LISTEN = "127.0.0.1:9092"


class _Commands(click.Group):
    """The commands. All but `serve` are imported only when they are used, so that it starts fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), "ctl", "dialogue", "journal", "record", "replay", "scenario"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == "ctl":
            from fakebroker.ctl.command import ctl

            return ctl
        if cmd_name == "journal":
            from fakebroker.journal.command import journal

            return journal
        if cmd_name == "dialogue":
            from fakebroker.dialogue.command import dialogue

            return dialogue
        if cmd_name == "replay":
            from fakebroker.recording.replay_command import replay

            return replay
        if cmd_name == "record":
            from fakebroker.recording.command import record

            return record
        if cmd_name == "scenario":
            from fakebroker.scenario.command import scenario

            return scenario
        return super().get_command(ctx, cmd_name)


@click.group(cls=_Commands)
def main() -> None:
    """A Kafka broker made for tests."""


@main.command()
@click.option(
    "--listen",
    multiple=True,
    metavar="[dialect=NAME,]HOST:PORT",
    help=f"Where to accept clients; may be repeated. Port 0 takes a free one. [default: {DEFAULT_LISTEN}]",
)
@click.option(
    "--advertise",
    multiple=True,
    metavar="HOST:PORT",
    help="What answers name as address, for each listener. [default: the address that the client connected to]",
)
@click.option(
    "--topic", "topics", multiple=True, metavar="NAME:PARTITIONS[:SETTING=VALUE,...]", help="A topic to begin with."
)
@click.option(
    "--profile", type=click.Choice(["test", "kafka"]), default=None, help="Set of default settings. [default: test]"
)
@click.option("--nodes", type=click.IntRange(1, 1000), default=None, help="How many brokers. [default: 1]")
@click.option("--rack", "racks", multiple=True, metavar="NAME", help="The rack of each broker, in order.")
@click.option("--config", "config", multiple=True, metavar="SETTING=VALUE", help="A broker setting by its Kafka name.")
@click.option("--as", "as_release", default=None, metavar="RELEASE", help="Answer as that Kafka did. [default: 4.3]")
@click.option("--seed", type=int, default=None, help="Seed of all random ids. [default: 0]")
@click.option(
    "--from",
    "snapshot_path",
    metavar="FILE",
    help="Begin with a snapshot that was saved: its nodes, topics, records, offsets, settings and time of day. Other "
    "options go before what is in it.",
)
@click.option(
    "--control",
    metavar="[HOST:]PORT",
    help="Where to be controlled by HTTP; without a host on 127.0.0.1. Needs the extra `control`.",
)
@click.option(
    "--control-token",
    envvar="FAKEBROKER_CONTROL_TOKEN",
    metavar="TOKEN",
    help="What callers of --control must show. Made and printed when --control is not on loopback and there is none.",
)
@click.option("--verbose", is_flag=True, help="Log a line for every request, connection and transition.")
@click.option(
    "--journal",
    "journal_dir",
    metavar="DIR",
    help="Write everything that happens to files in DIR, as JSON lines (docs/journal.md).",
)
def serve(
    listen: tuple[str, ...],
    advertise: tuple[str, ...],
    snapshot_path: str | None,
    control: str | None,
    control_token: str | None,
    **options: Any,
) -> None:
    """Run a broker until SIGINT or SIGTERM. Prints a line with "listening on HOST:PORT" when clients are served.

    The log goes to stderr: which connections were closed and why, which clients ask for what is not served (yet). A log
    that is not read does not stop the broker; lines that do not fit are dropped, and their number is logged.

    On [::]:PORT clients of IPv4 are accepted, too, where the system can.
    """
    for number in (signal.SIGINT, signal.SIGTERM):  # until the loop has handlers of its own
        signal.signal(number, lambda *_: sys.exit(0))
    try:
        snapshot = None if snapshot_path is None else _load(snapshot_path)
        options["racks"] = options["racks"] or None
        if snapshot is not None and (options["nodes"] or options["racks"]):
            raise click.UsageError("the nodes and racks are those of the snapshot: leave --nodes and --rack out")
        nodes = range(1, (options["nodes"] or 1) + 1)
        node_ids = tuple(nodes) if snapshot is None else snapshot.state.options.node_ids
        ports = _take_ports(node_ids, listen or (DEFAULT_LISTEN,), advertise)
        door = None if control is None else _take_door(control, control_token)
        _serve(ports, snapshot, door, **options)
    except (FakebrokerError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(error.strerror or str(error)) from None


def _load(path: str) -> "Snapshot":
    from fakebroker.snapshot.snapshot import Snapshot

    try:
        return Snapshot.load(path)
    except OSError as error:
        raise click.ClickException(f"cannot read {path}: {error.strerror or error}") from None


def _take_door(address: str, token: str | None) -> "Door":
    """Bind the port of the HTTP door."""
    from fakebroker.control.door import Door

    return Door(address, token)


def _take_ports(node_ids: tuple[int, ...], listen: tuple[str, ...], advertise: tuple[str, ...]) -> "Ports":
    """Bind the ports before the slow imports, so that clients that connect meanwhile wait and are not rejected."""
    from fakebroker.listener_options import listeners_for
    from fakebroker.net.ports import Ports

    ports = Ports(listeners_for(node_ids, listen, advertise))
    ports.bind()
    return ports


def _serve(
    ports: "Ports",
    snapshot: "Snapshot | None",
    door: "Door | None",
    topics: tuple[str, ...],
    config: tuple[str, ...],
    **options: Any,
) -> None:
    """Make the broker and run it."""
    import asyncio
    import logging

    from fakebroker.broker import AsyncFakeBroker
    from fakebroker.net.loop import new_event_loop
    from fakebroker.reports.line_writer import LineHandler, LineWriter
    from fakebroker.topic_option import create_topic

    logging.basicConfig(level=logging.INFO, handlers=[LineHandler(LineWriter(sys.stderr))])
    options = {name: value for name, value in options.items() if value is not None}
    options["config"] = dict(_pair(text, "=", "SETTING=VALUE") for text in config)
    make = AsyncFakeBroker if snapshot is None else snapshot.async_fork
    broker = make(listen=ports, **options)
    for topic in topics:
        create_topic(broker, topic)
    tune_garbage_collector()
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(_run_until_signal(broker, door))


def tune_garbage_collector() -> None:
    """Run the cyclic garbage collector seldom: half of a commit's cost was the collector.

    It looks at every object that is kept, and a broker keeps many (committed offsets) and makes few cycles. For a
    process that runs nothing but the broker; in a test's process the collector is left alone.
    """
    import gc

    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


async def _run_until_signal(broker: "AsyncFakeBroker", door: "Door | None") -> None:
    import asyncio

    from fakebroker.listener_options import format_listeners
    from fakebroker.reports.line_writer import LineWriter

    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await broker.start()
    out = LineWriter(sys.stdout)
    out.put(f"fakebroker listening on {format_listeners(broker.listeners)}")
    if door is not None:
        await door.open(broker)
        out.put(f"fakebroker control on {door.address}")
    await stop.wait()
    out.flush()
    broker.errors.clear()  # each was logged when it happened, and a signal ends us with status 0
    await broker.stop()
    if door is not None:  # after the broker, whose end is the end of all waits
        await door.close()


def _pair(text: str, separator: str, form: str) -> tuple[str, str]:
    left, found, right = text.partition(separator)
    if not found or not left:
        raise click.UsageError(f"{text!r} is not {form}")
    return left, right
