"""Who pushes metrics, for the two APIs of client telemetry (KIP-714)."""

from collections.abc import Generator

from fakebroker.broker.apis.call import Call
from fakebroker.broker.core.telemetry.client_telemetry import Instance
from fakebroker.broker.core.telemetry.subscriptions import ClientIdentity
from fakebroker.protocol.schema.jsonable import uuid_to_text


def instance_of(call: Call, instance_id: bytes) -> Generator[None, None, Instance]:
    """The client of a request by the id that it says it has, in steps; forgotten when the connection closes."""
    identity = identity_of(call, instance_id)
    telemetry, connection_id = call.cluster.telemetry, call.connection_id
    instance = yield from telemetry.instance(call.node, connection_id, instance_id, str(call.principal), identity)
    call.at_end("telemetry", lambda _now: telemetry.forget(connection_id))
    return instance


def identity_of(call: Call, instance_id: bytes) -> ClientIdentity:
    """What subscriptions may ask about the client of a request."""
    name, version = call.connection.software
    return ClientIdentity(
        uuid_to_text(instance_id),
        call.client_id or "",
        name,
        version,
        call.client_host.removeprefix("/"),
        str(call.connection.client_port),
    )
