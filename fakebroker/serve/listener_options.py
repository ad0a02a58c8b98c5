"""Options that say where to listen: "HOST:PORT", "node=2,HOST:PORT", "dialect=kip-17,HOST:PORT",
"protocol=SASL_PLAINTEXT,HOST:PORT", or as in Kafka's setting `listeners`: "SSL://HOST:PORT", "NAME://HOST:PORT".
"""

from collections.abc import Sequence
from typing import Annotated

from fakebroker.broker.settings import Settings
from fakebroker.protocol.arguments.checks import check
from fakebroker.protocol.arguments.kinds import Whole
from fakebroker.protocol.errors import InvalidArgument, SettingError
from fakebroker.protocol.listeners import EVERY_HOST, PLAINTEXT, PROTOCOLS, Address, Listener
from fakebroker.serve.net.ports import EVERY_ADDRESS, is_dual_stack

LOOPBACK = "127.0.0.1"
DEFAULT = f"{LOOPBACK}:0"
MAX_NODES = 1000
FIRST_NODE_ID = 1  # unless `node_id` says another
HIGHEST_FIRST_ID = 2**30  # others follow, and ids have 31 bits
NODE_COUNT, FIRST_ID = Whole(1, MAX_NODES, "brokers"), Whole(0, HIGHEST_FIRST_ID)
NodeCount = Annotated[int, NODE_COUNT]
FirstNodeId = Annotated[int, FIRST_ID]


def parse_address(text: str, field: str = "listen") -> Address:
    """HOST:PORT, an IPv6 host in brackets or not. Raises InvalidArgument, for the argument `field`."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise InvalidArgument(field, text, f"{text!r} is not HOST:PORT with a port from 0 to 65535")
    return Address(host.removeprefix("[").removesuffix("]"), int(port))


def with_host(text: str) -> str:
    """HOST:PORT of an address that may be a port alone, which is one of the loopback address."""
    return f"{LOOPBACK}:{text}" if text.isdecimal() else text


def parse_advertised(text: str) -> Address:
    """HOST:PORT that clients can connect to: no empty host, not every address, not any port. Raises InvalidArgument."""
    address = parse_address(text, "advertise")
    if not address.host.strip() or address.host in EVERY_HOST:
        wrong = "clients need a host to connect to"
        raise InvalidArgument("advertise", text, f"{text!r} cannot be advertised: {wrong}")
    if not address.port:
        raise InvalidArgument("advertise", text, f"{text!r} cannot be advertised: clients cannot connect to port 0")
    return address


def parse_listener(text: str, first_node_id: int = FIRST_NODE_ID) -> Listener:
    """One listener, of the first node unless it names another. Raises InvalidArgument."""
    *options, address = text.split(",")
    node_id, dialects, protocol = first_node_id, set[str](), ""
    name, _, address = address.rpartition("://")
    for option in options:
        key, _, value = option.partition("=")
        if key == "node" and value.isdecimal():
            node_id = int(value)
        elif key == "dialect" and value:
            dialects.add(value)
        elif key == "protocol" and value in PROTOCOLS:
            protocol = value
        else:
            wrong = (
                f"{option!r} in {text!r} is not an option of a listener; the options are node=NUMBER, "
                f"dialect=NAME and protocol={' or '.join(PROTOCOLS)}"
            )
            raise InvalidArgument("listen", text, wrong)
    host, port = parse_address(with_host(address))
    return Listener(node_id, host, port, None, frozenset(dialects), protocol, name.upper())


def use_settings(listeners: Sequence[Listener], settings: Settings) -> None:
    """Give each listener the name and the protocol that it does not say itself.

    A listener without a name has that of its protocol; without a protocol, too, it is the first of the setting
    `listeners` that is for clients. A name has the protocol that `listener.security.protocol.map` gives it.
    Addresses in the setting `listeners` are not used. Raises SettingError for a protocol that is not served.
    """
    controllers = settings.get_list("controller.listener.names")
    names = [entry.partition("://")[0] for entry in settings.get_list("listeners")]
    first = next((each for each in names if each and each not in controllers and each != "CONTROLLER"), PLAINTEXT)
    pairs = (entry.partition(":") for entry in settings.get_str("listener.security.protocol.map").split(","))
    protocols = {key.strip(): value.strip() for key, _, value in pairs}
    for listener in listeners:
        listener.name = listener.name or listener.protocol or first
        listener.protocol = listener.protocol or protocols.get(listener.name, listener.name)
        if listener.protocol not in PROTOCOLS:
            served = f"{', '.join(PROTOCOLS[:-1])} and {PROTOCOLS[-1]} are"
            raise SettingError(f"listeners: {listener.protocol} is not a supported protocol; {served}")


def listeners_for(
    node_ids: Sequence[int], listen: str | Sequence[str] | None, advertise: str | Sequence[str] | None
) -> list[Listener]:
    """The listeners that `listen` names; a node that it does not name has the same kinds of them, on free ports.

    `advertise` are their advertised addresses in the same order. Raises InvalidArgument.
    """
    if not node_ids:
        raise InvalidArgument("nodes", 0, "a cluster has at least one node")
    listeners = [parse_listener(text, node_ids[0]) for text in _as_list("listen", listen)]
    kinds = _kinds(listeners) or [Listener(node_ids[0], *parse_address(DEFAULT))]
    for node_id in node_ids:
        if not any(listener.node_id == node_id for listener in listeners):
            listeners += [_like(kind, node_id, parse_address(DEFAULT).host) for kind in kinds]
    unknown = [listener.node_id for listener in listeners if listener.node_id not in node_ids]
    if unknown:
        there = ", ".join(map(str, node_ids))
        raise InvalidArgument("listen", listen, f"there is no node {unknown[0]}, only {there}")
    advertised = [parse_advertised(text) for text in _as_list("advertise", advertise)]
    if len(advertised) > len(listeners):
        wrong = f"{len(advertised)} addresses to advertise for {len(listeners)} listeners"
        raise InvalidArgument("advertise", advertise, wrong)
    for listener, address in zip(listeners, advertised, strict=False):
        listener.advertised = address
    return listeners


def checked_nodes(
    nodes: int, racks: Sequence[str | None] | None, first_id: int = FIRST_NODE_ID
) -> tuple[tuple[int, ...], Sequence[str | None] | None]:
    """The ids of so many nodes, from `first_id` on, and the rack of each. Raises InvalidArgument."""
    check("nodes", nodes, NODE_COUNT)
    if racks is not None and len(racks) != nodes:
        raise InvalidArgument(
            "racks", racks, f"racks: should have the rack of each of the {nodes} nodes, not {racks!r}"
        )
    return ids_of_nodes(nodes, first_id), racks


def ids_of_nodes(nodes: int, first_id: int) -> tuple[int, ...]:
    """The ids of so many nodes. Raises InvalidArgument for a first id that no node can have."""
    check("node_id", first_id, FIRST_ID)
    return tuple(range(first_id, first_id + nodes))


def next_listeners(listeners: Sequence[Listener], node_id: int) -> list[Listener]:
    """The listeners of one more node: one of each kind that there is, on free ports of the host of the first one."""
    return [_like(kind, node_id, listeners[0].host) for kind in _kinds(listeners) or listeners[:1]]


def _kinds(listeners: Sequence[Listener]) -> list[Listener]:
    """The first listener of each name and protocol; those of dialects are kinds of no other node."""
    kinds: dict[tuple[str, str], Listener] = {}
    for listener in listeners:
        if not listener.dialects:
            kinds.setdefault((listener.name, listener.protocol), listener)
    return list(kinds.values())


def _like(kind: Listener, node_id: int, host: str) -> Listener:
    return Listener(node_id, host, 0, protocol=kind.protocol, name=kind.name)


def bootstrap(listeners: Sequence[Listener], name: str = "", *, is_advertised: bool = False) -> str:
    """bootstrap.servers for clients on this machine: the listeners of a name, or of the first one's name.

    With `is_advertised` it is for clients elsewhere: the advertised addresses, if any of these listeners has one.

    A client speaks one protocol, so those of other names are not for it. Listeners of dialects are named only if there
    are no others. Raises InvalidArgument for a name that no listener has.
    """
    plain = [listener for listener in listeners if not listener.dialects] or listeners
    found = [listener for listener in plain if listener.name == (name or plain[0].name)]
    if not found:
        there = ", ".join(dict.fromkeys(listener.name for listener in plain))
        raise InvalidArgument("name", name, f"there is no listener {name!r}, only {there}")
    if is_advertised:
        found = [listener for listener in found if listener.advertised is not None] or found
    return ",".join(address_text(listener, is_advertised=is_advertised) for listener in found)


def address_text(listener: Listener, *, is_advertised: bool = False) -> str:
    """HOST:PORT to connect to; a listener on every address is reached at the loopback one.

    With `is_advertised` it is the advertised address, if the listener has one.
    """
    host, port = listener.host, listener.port
    if is_advertised and listener.advertised is not None:
        host, port = listener.advertised
    elif host == EVERY_ADDRESS and not is_dual_stack():
        host = "::1"
    elif listener.is_everywhere:
        host = LOOPBACK
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def format_listeners(listeners: Sequence[Listener]) -> str:
    """Text for people: an address to connect to for every listener; in brackets what else it is."""
    return ", ".join(f"{address_text(each)}{''.join(f' ({note})' for note in _notes(each))}" for each in listeners)


def _notes(listener: Listener) -> list[str]:
    named = [] if listener.name in ("", listener.protocol) else [listener.name]
    protocol = named + ([] if listener.protocol in ("", PLAINTEXT) else [listener.protocol])
    return [*(["and all other addresses"] if listener.is_everywhere else []), *protocol, *sorted(listener.dialects)]


def _as_list(field: str, texts: str | Sequence[str] | None) -> list[str]:
    listed = [texts] if isinstance(texts, str) else texts or ()
    if not isinstance(listed, list | tuple) or not all(isinstance(text, str) for text in listed):
        raise InvalidArgument(field, texts, f'{field}={texts!r} is not "HOST:PORT" or a list of such strings')
    return list(listed)
