"""`fakebroker record`: a proxy that writes down what clients and a Kafka say to each other."""

import asyncio
import logging
import signal
import sys
from functools import partial
from typing import Any

import click

from fakebroker.cli.commands.kafka_options import kafka_options
from fakebroker.cli.exit_status import ExitStatus, command_error, errors_end_the_command
from fakebroker.client.security import ClientConfig
from fakebroker.platform.signals import call_at_signals
from fakebroker.protocol.errors import FakebrokerError, InvalidArgument, wrong_name
from fakebroker.protocol.listeners import Address
from fakebroker.scenarios.recording.proxy import PAYLOADS, SECRETS, Proxy
from fakebroker.serve.listener_options import parse_address, parse_advertised, with_host
from fakebroker.testing.exchanges.writing import LineFile, new_file
from fakebroker.testing.explanations.line_writer import LineHandler, LineWriter

_NOTHING = "nothing"
_REDACTED = (SECRETS, PAYLOADS, _NOTHING)


@click.command()
@kafka_options("--upstream", "A broker of the Kafka cluster to record.", required=True, several=False)
@click.option("--listen", required=True, metavar="[HOST:]PORT", help="Address for clients; port 0 is a free one.")
@click.option("--out", required=True, metavar="FILE", help="Session file to write.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.option(
    "--redact",
    default=SECRETS,
    show_default=True,
    metavar="WHAT[,WHAT]",
    help="Remove from the file: secrets, payloads (and secrets), or nothing.",
)
@click.option(
    "--advertise",
    metavar="HOST",
    help="Advertised host. [default: the address that the client connected to]",
)
@click.option(
    "--broker-ports",
    type=click.IntRange(1, 65535),
    metavar="PORT",
    help="Port for the second broker, counted up for others. [default: free ports]",
)
def record(upstream: ClientConfig, listen: str, out: str, force: bool, redact: str, **options: Any) -> None:
    """Record the traffic between clients and a Kafka cluster, until SIGINT or SIGTERM.

    A proxy: clients connect to --listen instead of the cluster. The addresses of brokers in answers become the proxy's
    own, so that clients stay with it. Secrets are authentication and passwords; payloads are records and user metadata.
    """
    with errors_end_the_command():
        address = parse_address(with_host(listen))
        redacted = _redacted(redact)
        if options["advertise"] is not None:
            options["advertise"] = parse_advertised(f"{options['advertise']}:1").host
        logging.basicConfig(level=logging.INFO, handlers=[LineHandler(LineWriter(sys.stderr))])
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            is_whole = runner.run(_run(upstream, address, new_file(out, force=force), redacted=redacted, **options))
    if not is_whole:
        raise SystemExit(ExitStatus.FAILED)


def _redacted(text: str) -> frozenset[str]:
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if word not in _REDACTED:
            raise InvalidArgument("redact", text, wrong_name("--redact", word, _REDACTED))
    if _NOTHING in words and len(words) > 1:
        raise InvalidArgument("redact", text, f"--redact {text}: nothing cannot be combined with other values")
    return frozenset() if words == [_NOTHING] else frozenset(words) | {SECRETS}


async def _run(
    upstream: ClientConfig, listen: Address, writer: LineFile, *, broker_ports: int | None, **options: Any
) -> bool:
    """Record until a signal; whether all of it is in the file."""
    stopped: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    call_at_signals(asyncio.get_running_loop(), partial(_stop, stopped))
    proxy = Proxy(upstream, listen, writer, first_port=broker_ports, **options)
    out = LineWriter(sys.stdout)
    starting = asyncio.create_task(proxy.start())
    stopped.add_done_callback(lambda _: starting.cancel())
    try:
        out.put(f"fakebroker recording on {await starting}")
    except asyncio.CancelledError:  # the signal came first
        pass
    except (OSError, FakebrokerError) as error:
        writer.discard()
        await proxy.stop("")
        raise command_error(error) from None
    reason = await stopped
    await proxy.stop(reason)
    out.put(_summary_text(proxy, writer))
    out.flush()
    return writer.error is None


def _stop(stopped: "asyncio.Future[str]", number: signal.Signals) -> None:
    if not stopped.done():
        stopped.set_result(number.name)


def _summary_text(proxy: Proxy, writer: LineFile) -> str:
    found = proxy.summary()
    unknown = ", ".join(f"{name} ({count})" for name, count in found["not_understood"].items() if count)
    text = (
        f"{writer.path}: {found['connections']} connections, {found['requests']} requests, {found['answers']} answers"
    )
    return f"{text}; unknown: {unknown}" if unknown else text
