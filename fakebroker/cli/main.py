"""The command line. `fakebroker serve` is a broker in a process of its own."""

import sys
from typing import TYPE_CHECKING, Any

import click

from fakebroker.cli.choice import Choice
from fakebroker.cli.early_signals import EarlySignals
from fakebroker.cli.exit_status import CommandError, errors_end_the_command
from fakebroker.cli.lazy_commands import LazyCommands
from fakebroker.protocol.errors import Unavailable

if TYPE_CHECKING:
    from fakebroker.cli.http.control_port import ControlPort
    from fakebroker.cli.ready_file import ReadyFile
    from fakebroker.scenarios.running.serving import ServedScenario
    from fakebroker.serve.net.ports import Ports
    from fakebroker.testing.broker import AsyncFakeBroker
    from fakebroker.testing.snapshot.snapshot import Snapshot

DEFAULT_LISTEN = "127.0.0.1:9092"


class _Commands(LazyCommands):
    """The commands: `serve`, and those of other packages."""

    elsewhere = {
        "campaign": ("fakebroker.cli.commands.campaign", "campaign"),
        "clone": ("fakebroker.cli.commands.clone", "clone"),
        "conformance": ("fakebroker.cli.commands.conformance", "conformance"),
        "ctl": ("fakebroker.cli.commands.ctl", "ctl"),
        "dialogue": ("fakebroker.cli.commands.dialogue", "dialogue"),
        "history": ("fakebroker.cli.commands.history", "history"),
        "journal": ("fakebroker.cli.commands.journal", "journal"),
        "pipeline": ("fakebroker.cli.commands.pipeline", "pipeline"),
        "record": ("fakebroker.cli.commands.record", "record"),
        "replay": ("fakebroker.cli.commands.replay", "replay"),
        "scenario": ("fakebroker.cli.commands.scenario", "scenario"),
        "tls": ("fakebroker.cli.commands.tls", "tls"),
    }


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(None, "-V", "--version", package_name="fakebroker", message="fakebroker %(version)s")
def main() -> None:
    """Run a Kafka broker made for tests, and control, record, replay and analyse it.

    Exit status: 0 done, 1 a check failed, 2 wrong option or file, 3 environment (no broker answers, a port is in use,
    an extra is not installed).
    """


@main.command()
@click.option(
    "--listen",
    multiple=True,
    metavar="[dialect=NAME,][PROTOCOL://][HOST:]PORT",
    help=f"Address for clients; port 0 is a free one. Repeatable. [default: {DEFAULT_LISTEN}]",
)
@click.option(
    "--advertise",
    multiple=True,
    metavar="HOST:PORT",
    help="Advertised address, per listener (advertised.listeners). Repeatable.",
)
@click.option(
    "--topic",
    "topics",
    multiple=True,
    metavar="NAME[:PARTITIONS[:SETTING=VALUE,...]]",
    help="Topic to create at the start, by default with one partition. Repeatable.",
)
@click.option(
    "--user",
    "users",
    multiple=True,
    metavar="NAME=PASSWORD",
    help="User for PLAIN and SCRAM; every client must then log in. Repeatable.",
)
@click.option(
    "--users-file",
    metavar="FILE",
    default=None,
    help="File with a line NAME=PASSWORD for each user; # starts a comment.",
)
@click.option(
    "--profile", type=Choice(["test", "kafka"]), default=None, help="Set of default settings. [default: test]"
)
@click.option("--nodes", type=click.IntRange(1, 1000), default=None, help="Number of brokers. [default: 1]")
@click.option(
    "--node-id",
    type=click.IntRange(0, 2**30),
    default=None,
    metavar="ID",
    help="Id of the first broker; the others have the ids after it. [default: 1]",
)
@click.option("--rack", "racks", multiple=True, metavar="NAME", help="Rack of each broker, in order. Repeatable.")
@click.option(
    "--config", "config", multiple=True, metavar="SETTING=VALUE", help="Broker setting by its Kafka name. Repeatable."
)
@click.option("--as", "as_release", default=None, metavar="RELEASE", help="Emulate this Kafka release. [default: 4.3]")
@click.option("--seed", type=int, default=None, help="Seed of all random ids. [default: 0]")
@click.option(
    "--from",
    "snapshot_path",
    metavar="FILE",
    help="Start with this saved snapshot. Command-line options override the file.",
)
@click.option(
    "--data-from",
    multiple=True,
    metavar="DIR",
    help="Start with a copy of a Kafka data directory, which stays as it is. Repeatable.",
)
@click.option(
    "--data",
    metavar="DIR",
    default=None,
    help="Directory that keeps all state, in Kafka's format, from run to run.",
)
@click.option(
    "--control", metavar="[HOST:]PORT", help="Address of the HTTP API and web page; needs the extra `control`."
)
@click.option(
    "--control-token",
    envvar="FAKEBROKER_CONTROL_TOKEN",
    show_envvar=True,
    metavar="TOKEN",
    help="Token for --control. [default: generated and printed unless on loopback]",
)
@click.option(
    "--control-host-access",
    is_flag=True,
    help="Allow clients without the token to use files and addresses of this host.",
)
@click.option(
    "--ready-file",
    envvar="FAKEBROKER_READY_FILE",
    metavar="FILE",
    help="File that holds the process id while the broker serves, for health checks.",
)
@click.option("--verbose", is_flag=True, help="Log a line for every request, connection and transition.")
@click.option(
    "--scenario",
    "scenario_path",
    metavar="FILE",
    help="Start the broker described by this scenario and play its steps.",
)
@click.option("--set", "parameters", multiple=True, metavar="NAME=VALUE", help="Parameter of the scenario. Repeatable.")
@click.option("--exit-when-done", is_flag=True, help="Stop when the scenario ends: status 0 passed, 1 failed.")
@click.option("--journal", "journal_dir", metavar="DIR", help="Write everything that happens to DIR, as JSON lines.")
def serve(
    listen: tuple[str, ...],
    advertise: tuple[str, ...],
    snapshot_path: str | None,
    data_from: tuple[str, ...],
    control: str | None,
    control_token: str | None,
    control_host_access: bool,
    scenario_path: str | None,
    parameters: tuple[str, ...],
    exit_when_done: bool,
    ready_file: str | None,
    **options: Any,
) -> None:
    """Run a broker until SIGINT or SIGTERM.

    Prints "listening on HOST:PORT" when it accepts clients. A port without a host is one of 127.0.0.1; [::]:PORT also
    accepts IPv4 clients where the system can. PROTOCOL is PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.

    Passwords on the command line are visible to other processes; a --users-file keeps them secret.

    The log goes to stderr: connections that were closed and why, and requests that are not supported. A log that is
    not read does not stop the broker: lines that do not fit are dropped and counted.
    """
    early = EarlySignals()
    with errors_end_the_command():
        ready = None if ready_file is None else _take_ready_file(ready_file)
        snapshot = _beginning(snapshot_path, data_from)
        options["racks"] = options["racks"] or None
        options["users"] = _users(options["users"], options.pop("users_file"))
        options["config"] = dict(_pair(text, "=", "SETTING=VALUE") for text in options["config"])
        scenario = _scenario(scenario_path, parameters, exit_when_done, snapshot)
        if options["data"] is not None:
            _check_data(options["data"], snapshot, scenario)
        if scenario is not None:
            options = scenario.options(options)
        ports = _take_ports(_node_ids(snapshot, options), listen or (DEFAULT_LISTEN,), advertise)
        control_port = None if control is None else _take_control_port(control, control_token, control_host_access)
        _serve(ports, snapshot, control_port, scenario, ready, early, **options)


def _node_ids(snapshot: "Snapshot | None", options: dict[str, Any]) -> tuple[int, ...]:
    """The ids of the brokers to begin with."""
    from fakebroker.serve.listener_options import FIRST_NODE_ID, ids_of_nodes

    first_id = options["node_id"]
    if snapshot is None:
        return ids_of_nodes(options["nodes"] or 1, FIRST_NODE_ID if first_id is None else first_id)
    if options["nodes"] or options["racks"] or first_id is not None:
        wrong = "--nodes, --node-id and --rack cannot be used with --from and --data-from: they have their own nodes"
        raise click.UsageError(wrong)
    return snapshot.state.options.node_ids


def _check_data(path: str, snapshot: "Snapshot | None", scenario: "ServedScenario | None") -> None:
    """Raises UsageError if the data directory would be overwritten."""
    from fakebroker.serve.storage.replacement import has_cluster

    if scenario is not None:
        raise click.UsageError("--data and --scenario are mutually exclusive: a scenario begins with an empty broker")
    if snapshot is not None and has_cluster(path):
        raise click.UsageError(f"--data {path} has a cluster already: it cannot be used with --from or --data-from")


def _users(given: tuple[str, ...], path: str | None) -> dict[str, str] | None:
    """Passwords by user; those of the command line override those of the file."""
    if not given and path is None:
        return None
    from fakebroker.serve.security_options import parse_user, read_users

    try:
        return {**({} if path is None else read_users(path)), **dict(map(parse_user, given))}
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error.strerror or error}") from None


def _scenario(
    path: str | None, parameters: tuple[str, ...], exit_when_done: bool, snapshot: "Snapshot | None"
) -> "ServedScenario | None":
    """The scenario to play, if there is one."""
    if path is None:
        if parameters or exit_when_done:
            raise click.UsageError("--set and --exit-when-done need --scenario FILE")
        return None
    if snapshot is not None:
        raise click.UsageError("--scenario cannot be used with --from or --data-from")
    from fakebroker.scenarios.running.serving import ServedScenario

    given = dict(_pair(text, "=", "NAME=VALUE") for text in parameters)
    return ServedScenario(path, given, exit_when_done)


def _beginning(path: str | None, data_from: tuple[str, ...]) -> "Snapshot | None":
    """The snapshot that the broker starts with, if there is one."""
    if path is not None and data_from:
        raise click.UsageError("--from and --data-from are mutually exclusive")
    if data_from:
        return _copied(data_from)
    return None if path is None else _load(path)


def _copied(directories: tuple[str, ...]) -> "Snapshot":
    """A Kafka from its data directories; says what could not be used."""
    from fakebroker.testing.snapshot.snapshot import Snapshot

    return Snapshot.from_data(*directories, on_problem=lambda problem: click.echo(f"note: {problem}", err=True))


def _load(path: str) -> "Snapshot":
    from fakebroker.testing.snapshot.snapshot import Snapshot

    try:
        return Snapshot.load(path)
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error.strerror or error}") from None


def _take_ready_file(path: str) -> "ReadyFile":
    """A file that does not exist until clients are served."""
    from fakebroker.cli.ready_file import ReadyFile

    try:
        return ReadyFile(path)
    except OSError as error:
        raise CommandError(f"--ready-file: cannot write {path}: {error.strerror or error}") from None


def _take_control_port(address: str, token: str | None, has_host_access: bool) -> "ControlPort":
    """Bind the control port."""
    from fakebroker.cli.http.control_port import ControlPort

    return ControlPort(address, token, has_host_access=has_host_access)


def _take_ports(node_ids: tuple[int, ...], listen: tuple[str, ...], advertise: tuple[str, ...]) -> "Ports":
    """Bind the ports before the slow imports, so that clients that connect meanwhile wait and are not rejected."""
    from fakebroker.serve.listener_options import listeners_for
    from fakebroker.serve.net.ports import Ports

    ports = Ports(listeners_for(node_ids, listen, advertise))
    ports.bind()
    return ports


def _serve(
    ports: "Ports",
    snapshot: "Snapshot | None",
    control_port: "ControlPort | None",
    scenario: "ServedScenario | None",
    ready: "ReadyFile | None",
    early: EarlySignals,
    topics: tuple[str, ...],
    **options: Any,
) -> None:
    """Make the broker and run it."""
    import asyncio
    import logging

    from fakebroker.platform.processes import raise_descriptor_limit
    from fakebroker.serve.net.loop import new_event_loop
    from fakebroker.testing.broker import AsyncFakeBroker
    from fakebroker.testing.explanations.line_writer import LineHandler, LineWriter
    from fakebroker.testing.topic_option import create_topic

    logging.basicConfig(level=logging.INFO, handlers=[LineHandler(LineWriter(sys.stderr))])
    options = {name: value for name, value in options.items() if value is not None}
    make = AsyncFakeBroker if snapshot is None else snapshot.async_fork
    broker = make(listen=ports, **options)
    if snapshot is not None:  # its users are those of the snapshot, and these
        for name, password in options.get("users", {}).items():
            broker.users.add(name, password)
    for topic in topics:
        if options.get("data") is None or not broker.topic(topic.partition(":")[0]).exists:
            create_topic(broker, topic)
    if scenario is not None:
        scenario.create_topics(broker)
    tune_garbage_collector()
    raise_descriptor_limit()
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        status = runner.run(_run_until_signal(broker, control_port, scenario, ready, early))
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
    broker: "AsyncFakeBroker",
    control_port: "ControlPort | None",
    scenario: "ServedScenario | None",
    ready: "ReadyFile | None",
    early: EarlySignals,
) -> int:
    """Serve until a signal or the end of the scenario; the exit status."""
    import asyncio

    from fakebroker.platform.signals import call_at_signals
    from fakebroker.serve.listener_options import format_listeners
    from fakebroker.testing.explanations.line_writer import LineWriter

    stop = asyncio.Event()
    failures: list[str] = []

    def data_failed(reason: str) -> None:
        failures.append(reason)
        stop.set()

    broker.on_data_failure(data_failed)
    call_at_signals(asyncio.get_running_loop(), lambda _: stop.set())
    if early.has_come:
        return 0
    await broker.start()
    out = LineWriter(sys.stdout)
    if scenario is not None:
        await scenario.begin(broker, out.put, stop.set)
    out.put(f"fakebroker listening on {format_listeners(broker.listeners)}")
    if control_port is not None:
        await control_port.open(broker, None if scenario is None else scenario.play)
        out.put(f"fakebroker control on {control_port.address}")
        out.put(f"fakebroker page on {control_port.page}")
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
    if control_port is not None:  # after the broker, whose end is the end of all waits
        await control_port.close()
    if failures:
        raise Unavailable(f"the broker has ended: {failures[0]}")
    return 0 if scenario is None else scenario.status


def _pair(text: str, separator: str, form: str) -> tuple[str, str]:
    left, found, right = text.partition(separator)
    if not found or not left:
        raise click.UsageError(f"{text!r} is not {form}")
    return left, right
