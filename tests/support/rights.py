"""Engines with an authorizer, and clients with names."""

from typing import Any

from fakebroker.broker.core.security.acls import Acl as Acl
from fakebroker.broker.core.security.acls import Operation, PatternType, ResourcePattern, ResourceType
from fakebroker.broker.core.security.acls import Permission as Permission
from fakebroker.broker.core.security.principals import Principal
from fakebroker.protocol.schema.jsonable import from_json
from fakebroker.protocol.wire.frame import encode_request
from fakebroker.protocol.wire.registry import api
from tests.support.engine import Client, SimEngine
from tests.support.frames import framed

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:root",
}


def guarded_lab(**settings: Any) -> SimEngine:
    """An engine with an authorizer and topics t and u; User:root may do everything, nobody else anything."""
    lab = SimEngine({**AUTHORIZER, **settings})
    for name in ("t", "u"):
        lab.cluster.topics.create(name)
    return lab


def client_of(lab: SimEngine, name: str = "alice") -> Client:
    """A client that is this user; the login itself is another matter."""
    client = lab.client()
    client.socket.connection.principal = Principal(name)
    return client


def rule(
    operation: str, resource_type: str = "TOPIC", name: str = "t", *, permission: Permission = Permission.ALLOW,
    principal: str = "User:alice",
) -> Acl:  # fmt: skip
    """An entry for one literal name."""
    pattern = ResourcePattern(ResourceType[resource_type], name, PatternType.LITERAL)
    return Acl(pattern, principal, "*", Operation[operation], permission)


def allow(lab: SimEngine, operation: str, resource_type: str = "TOPIC", name: str = "t", **fields: Any) -> None:
    """Store an entry."""
    assert lab.cluster.authorizer is not None
    lab.cluster.authorizer.acls.add(rule(operation, resource_type, name, **fields))


def ask(client: Client, name: str, version: int, **fields: Any) -> Any:
    """The answer to a request whose fields have Kafka's names; None if there is none."""
    message = from_json(api(name).request, version, fields)
    client.socket.send(framed(encode_request(message, version, 1, "test")))
    return client.answer(name, version)
