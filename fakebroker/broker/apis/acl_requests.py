"""What DescribeAcls, CreateAcls and DeleteAcls have in common: the codes in filters, and those that cannot be read."""

from typing import Protocol

from fakebroker.broker.core.security.acls import AclFilter, Operation, PatternType, Permission, ResourceType
from fakebroker.protocol.errors import CloseConnection

NO_AUTHORIZER = "No Authorizer is configured"
_UNKNOWN = 0


class FilterMessage(Protocol):
    """A filter as DescribeAcls and DeleteAcls have it."""

    resource_type_filter: int
    resource_name_filter: str | None
    pattern_type_filter: int
    principal_filter: str | None
    host_filter: str | None
    operation: int
    permission_type: int


def refuse_unknown(*codes: int) -> None:
    """Raises CloseConnection if one of the codes of a request is 0: unknown resource, pattern, operation, permission.

    Kafka finds that while it reads the request. Codes that nobody knows are not found there.
    """
    if _UNKNOWN in codes:
        raise CloseConnection("an ACL of the request has an unknown (0) type, pattern, operation or permission")


def refuse_unknown_filter(message: FilterMessage) -> None:
    """The same for a filter."""
    refuse_unknown(
        message.resource_type_filter, message.pattern_type_filter, message.operation, message.permission_type
    )


def filter_of(message: FilterMessage) -> AclFilter | None:
    """What a filter means (AU-10); None if it has a code that nobody knows."""
    try:
        return AclFilter(
            ResourceType(message.resource_type_filter),
            message.resource_name_filter,
            PatternType(message.pattern_type_filter),
            message.principal_filter,
            message.host_filter,
            Operation(message.operation),
            Permission(message.permission_type),
        )
    except ValueError:
        return None
