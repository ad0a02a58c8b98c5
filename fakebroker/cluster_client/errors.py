"""What can go wrong between a client and a cluster."""

from fakebroker.errors import ErrorCode, FakebrokerError, error_name


class ClusterError(FakebrokerError):
    """A cluster did not do what it was asked to. The text says what, of which partition, and what was answered."""


class NoBroker(ClusterError):
    """A broker cannot be reached, or did not answer in time."""


class NoCommonVersion(ClusterError):
    """A broker serves no version of a request that this client speaks."""


class AnsweredError(ClusterError):
    """A broker answered with an error code."""

    def __init__(self, what: str, code: int, more: str | None = None) -> None:
        super().__init__(f"{what}: {error_name(code)}{f' ({more})' if more else ''}")
        self.code = code

    @property
    def may_pass(self) -> bool:
        """Whether the same request may succeed later, at this broker or at the partition's new leader."""
        return self.code in ErrorCode._value2member_map_ and ErrorCode(self.code).retriable


class NoSuchPartition(ClusterError):
    """A topic or partition does not exist."""


class OffsetOutOfRange(AnsweredError):
    """Records were asked for at an offset that the log does not have: deleted meanwhile, or not there yet."""
