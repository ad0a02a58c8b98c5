"""`fakebroker record`: a proxy that writes down what clients and a Kafka say to each other."""

import asyncio
import logging
import signal
import sys
from typing import Any

import click

from fakebroker.errors import FakebrokerError, InvalidArgument, nearest
from fakebroker.listener_options import parse_address, parse_advertised
from fakebroker.listeners import Address
from fakebroker.recording.addresses import text_of
from fakebroker.recording.proxy import PAYLOADS, SECRETS, Proxy
from fakebroker.recording.session import SessionWriter
from fakebroker.reports.line_writer import LineHandler, LineWriter

_NOTHING = "nothing"
_REDACTED = (SECRETS, PAYLOADS, _NOTHING)


@click.command()
@click.option("--upstream", required=True, metavar="HOST:PORT", help="A broker of the Kafka to record.")
@click.option(
    "--listen", required=True, metavar="HOST:PORT", help="Where clients connect instead; port 0 is a free one."
)
@click.option("--out", required=True, metavar="FILE", help="The session file to write.")
@click.option("--force", is_flag=True, help="Overwrite FILE.")
@click.option(
    "--redact",
    default=SECRETS,
    show_default=True,
    metavar="WHAT[,WHAT]",
    help="What is left out of the file: secrets (authentication, passwords), payloads (records, user metadata; "
    "secrets, too), or nothing.",
)
@click.option(
    "--advertise",
    metavar="HOST",
    help="The host that answers name. [default: the address that the client connected to]",
)
@click.option(
    "--broker-ports",
    type=click.IntRange(1, 65535),
    metavar="PORT",
    help="The port for the second broker that is seen, and those after it for the next. [default: free ports]",
)
def record(upstream: str, listen: str, out: str, force: bool, redact: str, **options: Any) -> None:
    """Stand between clients and a Kafka, and write what they say to each other to FILE, until SIGINT or SIGTERM.

    Clients connect to --listen as if it were the Kafka. The addresses of brokers in answers become the proxy's own, so
    that clients stay with it. docs/recording.md tells what is in the file.
    """
    try:
        addresses = parse_address(upstream, "upstream"), parse_address(listen)
        redacted = _redacted(redact)
        if options["advertise"] is not None:
            options["advertise"] = parse_advertised(f"{options['advertise']}:1").host
        logging.basicConfig(level=logging.INFO, handlers=[LineHandler(LineWriter(sys.stderr))])
        is_whole = asyncio.run(_run(*addresses, SessionWriter(out, force=force), redacted=redacted, **options))
    except (FakebrokerError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    if not is_whole:
        raise SystemExit(1)


def _redacted(text: str) -> frozenset[str]:
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if word not in _REDACTED:
            raise InvalidArgument("redact", text, f"--redact {word!r}: {nearest(word, _REDACTED)}")
    if _NOTHING in words and len(words) > 1:
        raise InvalidArgument("redact", text, f"--redact {text}: nothing, and something")
    return frozenset() if words == [_NOTHING] else frozenset(words) | {SECRETS}


async def _run(
    upstream: Address, listen: Address, writer: SessionWriter, *, broker_ports: int | None, **options: Any
) -> bool:
    """Record until a signal; whether all of it is in the file."""
    stopped: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, _stop, stopped, signal.Signals(number).name)
    proxy = Proxy(upstream, listen, writer, first_port=broker_ports, **options)
    out = LineWriter(sys.stdout)
    starting = asyncio.create_task(proxy.start())
    stopped.add_done_callback(lambda _: starting.cancel())
    try:
        out.put(f"fakebroker recording on {text_of(await starting)}")
    except asyncio.CancelledError:  # the signal came first
        pass
    except (OSError, FakebrokerError) as error:
        writer.discard()
        await proxy.stop("")
        raise click.ClickException(str(error)) from None
    reason = await stopped
    await proxy.stop(reason)
    out.put(_summary_text(proxy, writer))
    out.flush()
    return writer.error is None


def _stop(stopped: "asyncio.Future[str]", name: str) -> None:
    if not stopped.done():
        stopped.set_result(name)


def _summary_text(proxy: Proxy, writer: SessionWriter) -> str:
    found = proxy.summary()
    unknown = ", ".join(f"{name} ({count})" for name, count in found["not_understood"].items() if count)
    text = (
        f"{writer.path}: {found['connections']} connections, {found['requests']} requests, {found['answers']} answers"
    )
    return f"{text}; not understood: {unknown}" if unknown else text
