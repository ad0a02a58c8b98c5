"""What DescribeAcls, CreateAcls and DeleteAcls have in common: which requests cannot be read (AU-1)."""

from fakebroker.errors import CloseConnection

NO_AUTHORIZER = "No Authorizer is configured"
_UNKNOWN = 0


def refuse_unknown(*codes: int) -> None:
    """Raises CloseConnection if one of the codes of a request is 0: unknown resource, pattern, operation, permission.

    Kafka finds that while it reads the request. Codes that nobody knows are not found there.
    """
    if _UNKNOWN in codes:
        raise CloseConnection("an ACL of the request has 0, unknown, as its type, pattern, operation or permission")
