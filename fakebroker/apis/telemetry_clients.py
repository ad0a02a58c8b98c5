"""Who pushes metrics, for the two APIs of client telemetry (KIP-714)."""

from fakebroker.apis.call import Call
from fakebroker.core.telemetry.client_telemetry import Instance
from fakebroker.core.telemetry.subscriptions import ClientIdentity
from fakebroker.schema.jsonable import uuid_to_text


def instance_of(call: Call, instance_id: bytes) -> Instance:
    """The client of a request by the id that it says it has; forgotten when the connection closes."""
    name, version = call.connection.software
    identity = ClientIdentity(
        uuid_to_text(instance_id),
        call.client_id or "",
        name,
        version,
        call.client_host.removeprefix("/"),
        str(call.connection.client_port),
    )
    telemetry, node = call.cluster.telemetry, call.node
    call.at_end(("telemetry", instance_id), lambda _now: telemetry.forget(node, instance_id))
    return telemetry.instance(node, instance_id, identity)
