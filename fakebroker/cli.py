"""The command line. `fakebroker serve` is a broker in a process of its own."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from fakebroker.errors import FakebrokerError
from fakebroker.lazy_commands import LazyCommands

if TYPE_CHECKING:
    from fakebroker.broker import AsyncFakeBroker
    from fakebroker.control.door import Door
    from fakebroker.net.ports import Ports
    from fakebroker.ready_file import ReadyFile
    from fakebroker.scenario.running.serving import ServedScenario
    from fakebroker.snapshot.snapshot import Snapshot

DEFAULT_LISTEN = "127.0.0.1:9092"


class _Commands(LazyCommands):
    """The commands: `serve`, and those of other packages."""

    elsewhere = {
        "campaign": ("fakebroker.campaign.command", "campaign"),
        "ctl": ("fakebroker.ctl.command", "ctl"),
        "dialogue": ("fakebroker.dialogue.command", "dialogue"),
        "history": ("fakebroker.history.command", "history"),
        "journal": ("fakebroker.journal.command", "journal"),
        "pipeline": ("fakebroker.pipeline.command", "pipeline"),
        "record": ("fakebroker.recording.command", "record"),
        "replay": ("fakebroker.recording.replay_command", "replay"),
        "scenario": ("fakebroker.scenario.command", "scenario"),
        "tls": ("fakebroker.tls.command", "tls"),
    }


@click.group(cls=_Commands)
def main() -> None:
    """A Kafka broker made for tests."""


@main.command()
@click.option(
    "--listen",
    multiple=True,
    metavar="[dialect=NAME,][PROTOCOL://]HOST:PORT",
    help="Where to accept clients, by PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL; may be repeated. Port 0 takes a free "
    f"one. [default: {DEFAULT_LISTEN}]",
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
    "--user",
    "users",
    multiple=True,
    metavar="NAME=PASSWORD",
    help="A user that may log in by PLAIN and SCRAM; may be repeated. With users every client has to log in. Who sees "
    "the command line sees passwords: a --users-file keeps them.",
)
@click.option(
    "--users-file", metavar="FILE", default=None, help="Users, one line NAME=PASSWORD each; # begins a remark."
)
@click.option(
    "--profile", type=click.Choice(["test", "kafka"]), default=None, help="Set of default settings. [default: test]"
)
@click.option("--nodes", type=click.IntRange(1, 1000), default=None, help="How many brokers. [default: 1]")
@click.option(
    "--node-id",
    type=click.IntRange(0, 2**30),
    default=None,
    metavar="ID",
    help="Id of the first broker; the others have the ids after it. [default: 1]",
)
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
    help="Where to be controlled by HTTP, and looked at in a browser; without a host on 127.0.0.1. Needs the extra "
    "`control`.",
)
@click.option(
    "--control-token",
    envvar="FAKEBROKER_CONTROL_TOKEN",
    metavar="TOKEN",
    help="What callers of --control must show. Made and printed when --control is not on loopback and there is none.",
)
@click.option(
    "--control-host-access",
    is_flag=True,
    help="Let callers of --control without a token make brokers that write journals, listen for other hosts, and read "
    "files and addresses of keys. Callers with a token always may.",
)
@click.option(
    "--ready-file",
    envvar="FAKEBROKER_READY_FILE",
    metavar="FILE",
    help="Write the process id to FILE while clients are served: for health checks of containers.",
)
@click.option("--verbose", is_flag=True, help="Log a line for every request, connection and transition.")
@click.option(
    "--scenario",
    "scenario_path",
    metavar="FILE",
    help="Be the broker that a scenario describes, and play it while clients are connected. Needs the extra scenario.",
)
@click.option(
    "--set", "parameters", multiple=True, metavar="NAME=VALUE", help="A parameter of the scenario; may be repeated."
)
@click.option(
    "--exit-when-done",
    is_flag=True,
    help="End with the scenario: with status 0 if all came out as it says, 1 if not, 2 if it cannot be played.",
)
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
    control_host_access: bool,
    scenario_path: str | None,
    parameters: tuple[str, ...],
    exit_when_done: bool,
    ready_file: str | None,
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
        ready = None if ready_file is None else _take_ready_file(ready_file)
        snapshot = None if snapshot_path is None else _load(snapshot_path)
        options["racks"] = options["racks"] or None
        options["users"] = _users(options["users"], options.pop("users_file"))
        options["config"] = dict(_pair(text, "=", "SETTING=VALUE") for text in options["config"])
        scenario = _scenario(scenario_path, parameters, exit_when_done, snapshot)
        if scenario is not None:
            with _playable():
                options = scenario.options(options)
        ports = _take_ports(_node_ids(snapshot, options), listen or (DEFAULT_LISTEN,), advertise)
        door = None if control is None else _take_door(control, control_token, control_host_access)
        _serve(ports, snapshot, door, scenario, ready, **options)
    except (FakebrokerError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(error.strerror or str(error)) from None


def _node_ids(snapshot: "Snapshot | None", options: dict[str, Any]) -> tuple[int, ...]:
    """The ids of the brokers to begin with."""
    from fakebroker.listener_options import FIRST_NODE_ID, ids_of_nodes

    first_id = options["node_id"]
    if snapshot is None:
        return ids_of_nodes(options["nodes"] or 1, FIRST_NODE_ID if first_id is None else first_id)
    if options["nodes"] or options["racks"] or first_id is not None:
        wrong = "the nodes and racks are those of the snapshot: leave --nodes, --node-id and --rack out"
        raise click.UsageError(wrong)
    return snapshot.state.options.node_ids


def _users(given: tuple[str, ...], path: str | None) -> dict[str, str] | None:
    """Passwords by user; those of the command line go before those of the file."""
    if not given and path is None:
        return None
    from fakebroker.security_options import parse_user, read_users

    try:
        return {**({} if path is None else read_users(path)), **dict(map(parse_user, given))}
    except OSError as error:
        raise click.ClickException(f"cannot read {path}: {error.strerror or error}") from None


def _scenario(
    path: str | None, parameters: tuple[str, ...], exit_when_done: bool, snapshot: "Snapshot | None"
) -> "ServedScenario | None":
    """The scenario to play, if there is one."""
    if path is None:
        if parameters or exit_when_done:
            raise click.UsageError("--set and --exit-when-done are for a --scenario")
        return None
    if snapshot is not None:
        raise click.UsageError("a scenario begins with a broker that is as it says: leave --from or --scenario out")
    from fakebroker.scenario.running.serving import ServedScenario

    given = dict(_pair(text, "=", "NAME=VALUE") for text in parameters)
    with _playable():
        return ServedScenario(path, given, exit_when_done)


class _Unplayable(click.ClickException):
    exit_code = 2  # 1 is for a scenario that was played and did not come out as it says


@contextmanager
def _playable() -> Iterator[None]:
    """What is no scenario, cannot be read, or contradicts other options ends with a status of its own."""
    try:
        yield
    except OSError as error:
        raise _Unplayable(f"{error.filename}: {error.strerror or error}") from None
    except FakebrokerError as error:
        raise _Unplayable(str(error)) from None


def _load(path: str) -> "Snapshot":
    from fakebroker.snapshot.snapshot import Snapshot

    try:
        return Snapshot.load(path)
    except OSError as error:
        raise click.ClickException(f"cannot read {path}: {error.strerror or error}") from None


def _take_ready_file(path: str) -> "ReadyFile":
    """A file that does not exist until clients are served."""
    from fakebroker.ready_file import ReadyFile

    try:
        return ReadyFile(path)
    except OSError as error:
        raise click.ClickException(f"--ready-file: cannot write {path}: {error.strerror or error}") from None


def _take_door(address: str, token: str | None, has_host_access: bool) -> "Door":
    """Bind the port of the HTTP door."""
    from fakebroker.control.door import Door

    return Door(address, token, has_host_access=has_host_access)


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
    scenario: "ServedScenario | None",
    ready: "ReadyFile | None",
    topics: tuple[str, ...],
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
    make = AsyncFakeBroker if snapshot is None else snapshot.async_fork
    broker = make(listen=ports, **options)
    if snapshot is not None:  # its users are those of the snapshot, and these
        for name, password in options.get("users", {}).items():
            broker.users.add(name, password)
    for topic in topics:
        create_topic(broker, topic)
    if scenario is not None:
        with _playable():
            scenario.create_topics(broker)
    tune_garbage_collector()
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        status = runner.run(_run_until_signal(broker, door, scenario, ready))
    if status:
        raise SystemExit(status)


def tune_garbage_collector() -> None:
    """Run the cyclic garbage collector seldom: half of a commit's cost was the collector.

    It looks at every object that is kept, and a broker keeps many (committed offsets) and makes few cycles. For a
    process that runs nothing but the broker; in a test's process the collector is left alone.
    """
    import gc

    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


async def _run_until_signal(
    broker: "AsyncFakeBroker", door: "Door | None", scenario: "ServedScenario | None", ready: "ReadyFile | None"
) -> int:
    """Serve until a signal or the end of the scenario; the exit status."""
    import asyncio

    from fakebroker.listener_options import format_listeners
    from fakebroker.reports.line_writer import LineWriter

    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await broker.start()
    out = LineWriter(sys.stdout)
    if scenario is not None:
        await scenario.begin(broker, out.put, stop.set)
    out.put(f"fakebroker listening on {format_listeners(broker.listeners)}")
    if door is not None:
        await door.open(broker, None if scenario is None else scenario.play)
        out.put(f"fakebroker control on {door.address}")
        out.put(f"fakebroker page on {door.page}")
    if ready is not None:
        ready.write()
    await stop.wait()
    if ready is not None:
        ready.remove()
    if scenario is not None:
        await scenario.end()
    out.flush()
    broker.errors.clear()  # each was logged when it happened, and a signal ends us with status 0
    await broker.stop()
    if door is not None:  # after the broker, whose end is the end of all waits
        await door.close()
    return 0 if scenario is None else scenario.status


def _pair(text: str, separator: str, form: str) -> tuple[str, str]:
    left, found, right = text.partition(separator)
    if not found or not left:
        raise click.UsageError(f"{text!r} is not {form}")
    return left, right
