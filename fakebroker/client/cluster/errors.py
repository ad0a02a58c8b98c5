"""What can go wrong between a client and a cluster."""

from fakebroker.protocol.errors import ErrorCode, Unavailable, error_name


class ClusterError(Unavailable):
    """A cluster did not do what it was asked to. The text says what, of which partition, and what was answered."""

    may_pass = False
    """Whether the same request may succeed later, at this broker or at the partition's new leader."""


class NoBroker(ClusterError):
    """A broker cannot be reached, or did not answer in time. `is_accepted`: a connection came about."""

    may_pass = True
    is_accepted = True


class SilentPort(NoBroker):
    """A new connection was not accepted, or its first request not answered, within a few seconds."""


class NotLetIn(NoBroker):
    """A broker accepted the connection, and TLS or the login failed, or one of them is missing: it stays so."""

    may_pass = False


class LoginMissing(NotLetIn):
    """A listener with SASL closed a connection without a login."""


class UnreadableAnswer(ClusterError):
    """A broker answered bytes that are not an answer to the request."""


class NoCommonVersion(ClusterError):
    """What answers serves no version of a request that this client speaks, or is no broker."""


class AnsweredError(ClusterError):
    """A broker answered with an error code."""

    def __init__(self, what: str, code: int, more: str | None = None) -> None:
        super().__init__(f"{what}: {error_name(code)}{f' ({more})' if more else ''}")
        self.code = code
        self.may_pass = code in ErrorCode._value2member_map_ and ErrorCode(code).retriable


class NoSuchPartition(ClusterError):
    """A topic or partition does not exist."""


class OffsetOutOfRange(AnsweredError):
    """Records were asked for at an offset that the log does not have: deleted meanwhile, or not there yet."""
