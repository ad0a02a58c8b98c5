"""What callers without the token may not do with the machine that the broker runs on.

A broker that is made by HTTP may write journals and data to a folder, open ports to other hosts, and read files and
addresses for its keys. So may one that is made from a snapshot file or by a scenario, whose settings come from the
caller, too. What clients of a broker name later, in settings that they alter, is refused by `serve/host_reads.py`.
Without a token every user of this machine may call: then these need `--control-host-access`.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from fakebroker.cli.http.control_port import is_loopback
from fakebroker.cli.http.problems import Problem, shown_value
from fakebroker.serve.host_reads import ENDS_OF_SETTINGS
from fakebroker.serve.listener_options import parse_listener

if TYPE_CHECKING:
    from fakebroker.testing.snapshot.snapshot import Snapshot

OPTION = "--control-host-access"


def check_host_access(options: Mapping[str, Any]) -> None:
    """Raises Problem for options of a broker that reach files or the network of the machine."""
    for field, value, what in _reaching(options):
        detail = f"{field}: {what}; send the token, or allow it for everyone with `serve {OPTION}`"
        raise Problem(403, "forbidden-option", detail, field=field, value=shown_value(value))


def check_snapshot(snapshot: "Snapshot") -> None:
    """Raises Problem for a snapshot from elsewhere whose settings reach files or the network of the machine."""
    cluster = snapshot.state.cluster
    of_nodes = [each for node in cluster.nodes for each in (node.own, node.dynamic)]
    for config in (snapshot.state.options.config, cluster.dynamic, *of_nodes):
        check_host_access({"config": config})


def _reaching(options: Mapping[str, Any]) -> Iterable[tuple[str, Any, str]]:
    if (folder := options.get("journal_dir")) is not None:
        yield "journal_dir", folder, "this writes files on the broker's machine"
    if (folder := options.get("data")) is not None:
        yield "data", folder, "this writes files on the broker's machine"
    listen = options.get("listen") or ()
    for text in (listen,) if isinstance(listen, str) else listen:
        if not is_loopback(parse_listener(text).host):
            yield "listen", text, "this opens a port to other hosts"
    for name, value in (options.get("config") or {}).items():
        if value and name.endswith(ENDS_OF_SETTINGS):
            yield "config", {name: value}, "this reads a file or an address on the broker's machine"
