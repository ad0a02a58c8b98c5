"""The option `acls` of brokers: ACLs as they are declared, and what they mean."""

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any, Final, Literal, NamedTuple, TypeVar

from fakebroker.broker.core.security.acls import (
    ANY_NAME,
    CLUSTER_NAME,
    Acl,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from fakebroker.protocol.arguments.checks import check_one_of, check_options, check_text
from fakebroker.protocol.errors import InvalidArgument

N = TypeVar("N", bound=IntEnum)

AUTHORIZER: Final = "authorizer.class.name"
STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
RESOURCES: Final = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional_id": ResourceType.TRANSACTIONAL_ID,
    "cluster": ResourceType.CLUSTER,
    "user": ResourceType.USER,
    "delegation_token": ResourceType.DELEGATION_TOKEN,
}
OperationName = Literal[
    "ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION", "DESCRIBE_CONFIGS",
    "ALTER_CONFIGS", "IDEMPOTENT_WRITE", "CREATE_TOKENS", "DESCRIBE_TOKENS", "TWO_PHASE_COMMIT",
]  # fmt: skip
_KEYS = ("allow", "deny", "operation", *RESOURCES, "prefix", "host")
_EXAMPLE = '{"allow": "User:alice", "operation": "READ", "topic": "orders"}'


class AclDeclaration(NamedTuple):
    """An ACL as scenarios declare it: `allow` or `deny` is the principal, the resource is one of the others."""

    operation: OperationName
    allow: str | None = None
    deny: str | None = None
    topic: str | None = None
    group: str | None = None
    transactional_id: str | None = None
    cluster: bool | None = None
    user: str | None = None
    delegation_token: str | None = None
    prefix: bool | None = None
    host: str | None = None

    def as_mapping(self) -> dict[str, object]:
        """What is given, as the option `acls` has it."""
        return {name: value for name, value in self._asdict().items() if value is not None}


def read_acls(value: object) -> list[Acl]:
    """The entries of the option: mappings with `allow` or `deny`, `operation`, a resource, `prefix` and `host`.

    Raises InvalidArgument.
    """
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise InvalidArgument("acls", value, f"acls={value!r} is not a list of ACLs: [{_EXAMPLE}]")
    return [_entry(each) for each in value]


def _entry(value: object) -> Acl:
    if not isinstance(value, Mapping):
        raise InvalidArgument("acls", value, f"acls: {value!r} is not an ACL: {_EXAMPLE}")
    check_options("an ACL", value, _KEYS)
    if ("allow" in value) == ("deny" in value):
        raise InvalidArgument("acls", value, f"acls: {value!r} needs `allow` or `deny`: {_EXAMPLE}")
    permission = Permission.ALLOW if "allow" in value else Permission.DENY
    resource: dict[str, Any] = {name: value[name] for name in RESOURCES if name in value}
    host = value.get("host", ANY_NAME)
    check_text("host", host)
    pattern_type = PatternType.PREFIXED if value.get("prefix") else PatternType.LITERAL
    return Acl(
        ResourcePattern(*resource_of(**resource), pattern_type),
        principal_of(value["allow" if "allow" in value else "deny"]),
        host,
        named(Operation, "operation", value.get("operation")),
        permission,
    )


def resource_of(
    topic: str | None = None, group: str | None = None, transactional_id: str | None = None, cluster: bool = False,
    user: str | None = None, delegation_token: str | None = None, *, is_needed: bool = True,
) -> tuple[ResourceType, Any]:  # fmt: skip
    """The type and name of the one resource that is given; ANY and None for none, if it is not needed.

    Raises InvalidArgument for several, for none that is needed, and for a name that is empty or no text.
    """
    given = {
        "topic": topic, "group": group, "transactional_id": transactional_id, "user": user,
        "delegation_token": delegation_token, "cluster": CLUSTER_NAME if cluster else None,
    }  # fmt: skip
    found = [(name, value) for name, value in given.items() if value is not None]
    if not found and not is_needed:
        return ResourceType.ANY, None
    if len(found) != 1:
        text = f"an ACL needs exactly one of {', '.join(RESOURCES)}, not {len(found)} of them"
        raise InvalidArgument("topic", topic, text)
    [(name, value)] = found
    check_text(name, value)
    if not value:
        raise InvalidArgument(name, value, f"{name} is empty; it must be the name of the resource")
    return RESOURCES[name], value


def principal_of(value: object) -> str:
    """A principal, which has a type: "User:alice". Raises InvalidArgument."""
    check_text("principal", value)
    text = str(value)
    if ":" not in text:
        raise InvalidArgument("principal", value, f"principal={value!r} has no type; write 'User:{text}'")
    return text


def named(kind: type[N], field: str, value: object) -> N:
    """A member of an enumeration by its name, without ANY. Raises InvalidArgument."""
    names = [each.name for each in kind if each.name != "ANY"]
    check_one_of(field, value, names)
    return kind[str(value)]
