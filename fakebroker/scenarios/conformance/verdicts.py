"""What came of a case."""

from dataclasses import dataclass, field
from enum import Enum

from fakebroker.scenarios.conformance.cases import Case


class Gone(Enum):
    """When the broker stopped answering: what another broker could still judge."""

    BEFORE = "before the case"
    DURING = "during the case"


class Verdict(Enum):
    """How a case ended; the value is what reports call it."""

    SAME = "as Kafka"
    DIFFERS = "differs"
    NOT_SERVED = "not served"  # an API or a version that ApiVersions does not list
    NEEDS_SETTINGS = "needs settings"
    NEEDS_MORE = "needs more"  # several brokers, a login, a broker of its own
    NOT_RUN = "not run"  # the broker was gone, or the time was over


@dataclass(frozen=True)
class Result:
    """A case with its verdict.

    Attributes:
        reason: Why it was not judged, "" if it was.
        problems: What differs, a line each.
        took_ms: How long the last play took.
        plays: How often it was played.
        gone: When the broker stopped answering, if it is not run because of that.
    """

    case: Case
    verdict: Verdict
    reason: str = ""
    problems: list[str] = field(default_factory=list)
    took_ms: int = 0
    plays: int = 0
    gone: Gone | None = None
