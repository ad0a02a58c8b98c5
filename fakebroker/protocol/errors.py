"""Kafka's error codes, and our own exceptions.

    FakebrokerError                 anything this package raises on purpose
      Unavailable                   something outside is missing: an address does not answer, an extra
      CheckFailed                   what a command checked is not so
      WireError                     bytes that are not what they claim to be, or a value that has no encoding
        AnswerTooLong               an answer, or a string in it, that is longer than its length field can say
      KafkaError(code, message)     becomes an error code in an answer
      CloseConnection(reason)       Kafka closes the connection instead of answering
      SettingError                  an unknown, ill-typed or out-of-range setting
      InvalidArgument(field, value) what a test asks of the broker has a value that cannot be; also a ValueError
        UnknownThing                it names a node, fault, ... that does not exist
      WaitTimeout                   a wait of the test timed out; says what it saw last
      ExpectationFailed             a request came that the test says must not come; also an AssertionError

Every other exception is a bug of the broker: the request is answered with UNKNOWN_SERVER_ERROR (AV-10), the exception
is kept, and raised again in the test.
"""

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple


class ErrorCode(IntEnum):
    """Every error code of the protocol, by Kafka's name."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    INVALID_FETCH_SIZE = 4
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    BROKER_NOT_AVAILABLE = 8
    REPLICA_NOT_AVAILABLE = 9
    MESSAGE_TOO_LARGE = 10
    STALE_CONTROLLER_EPOCH = 11
    OFFSET_METADATA_TOO_LARGE = 12
    NETWORK_EXCEPTION = 13
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    INVALID_TOPIC_EXCEPTION = 17
    RECORD_LIST_TOO_LARGE = 18
    NOT_ENOUGH_REPLICAS = 19
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
    INVALID_REQUIRED_ACKS = 21
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    INVALID_COMMIT_OFFSET_SIZE = 28
    TOPIC_AUTHORIZATION_FAILED = 29
    GROUP_AUTHORIZATION_FAILED = 30
    CLUSTER_AUTHORIZATION_FAILED = 31
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_SASL_MECHANISM = 33
    ILLEGAL_SASL_STATE = 34
    UNSUPPORTED_VERSION = 35
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_CONFIG = 40
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
    POLICY_VIOLATION = 44
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    DUPLICATE_SEQUENCE_NUMBER = 46
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    INVALID_TRANSACTION_TIMEOUT = 50
    CONCURRENT_TRANSACTIONS = 51
    TRANSACTION_COORDINATOR_FENCED = 52
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    SECURITY_DISABLED = 54
    OPERATION_NOT_ATTEMPTED = 55
    KAFKA_STORAGE_ERROR = 56
    LOG_DIR_NOT_FOUND = 57
    SASL_AUTHENTICATION_FAILED = 58
    UNKNOWN_PRODUCER_ID = 59
    REASSIGNMENT_IN_PROGRESS = 60
    DELEGATION_TOKEN_AUTH_DISABLED = 61
    DELEGATION_TOKEN_NOT_FOUND = 62
    DELEGATION_TOKEN_OWNER_MISMATCH = 63
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65
    DELEGATION_TOKEN_EXPIRED = 66
    INVALID_PRINCIPAL_TYPE = 67
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    FETCH_SESSION_ID_NOT_FOUND = 70
    INVALID_FETCH_SESSION_EPOCH = 71
    LISTENER_NOT_FOUND = 72
    TOPIC_DELETION_DISABLED = 73
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    UNSUPPORTED_COMPRESSION_TYPE = 76
    STALE_BROKER_EPOCH = 77
    OFFSET_NOT_AVAILABLE = 78
    MEMBER_ID_REQUIRED = 79
    PREFERRED_LEADER_NOT_AVAILABLE = 80
    GROUP_MAX_SIZE_REACHED = 81
    FENCED_INSTANCE_ID = 82
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83
    ELECTION_NOT_NEEDED = 84
    NO_REASSIGNMENT_IN_PROGRESS = 85
    GROUP_SUBSCRIBED_TO_TOPIC = 86
    INVALID_RECORD = 87
    UNSTABLE_OFFSET_COMMIT = 88
    THROTTLING_QUOTA_EXCEEDED = 89
    PRODUCER_FENCED = 90
    RESOURCE_NOT_FOUND = 91
    DUPLICATE_RESOURCE = 92
    UNACCEPTABLE_CREDENTIAL = 93
    INCONSISTENT_VOTER_SET = 94
    INVALID_UPDATE_VERSION = 95
    FEATURE_UPDATE_FAILED = 96
    PRINCIPAL_DESERIALIZATION_FAILURE = 97
    SNAPSHOT_NOT_FOUND = 98
    POSITION_OUT_OF_RANGE = 99
    UNKNOWN_TOPIC_ID = 100
    DUPLICATE_BROKER_REGISTRATION = 101
    BROKER_ID_NOT_REGISTERED = 102
    INCONSISTENT_TOPIC_ID = 103
    INCONSISTENT_CLUSTER_ID = 104
    TRANSACTIONAL_ID_NOT_FOUND = 105
    FETCH_SESSION_TOPIC_ID_ERROR = 106
    INELIGIBLE_REPLICA = 107
    NEW_LEADER_ELECTED = 108
    OFFSET_MOVED_TO_TIERED_STORAGE = 109
    FENCED_MEMBER_EPOCH = 110
    UNRELEASED_INSTANCE_ID = 111
    UNSUPPORTED_ASSIGNOR = 112
    STALE_MEMBER_EPOCH = 113
    MISMATCHED_ENDPOINT_TYPE = 114
    UNSUPPORTED_ENDPOINT_TYPE = 115
    UNKNOWN_CONTROLLER_ID = 116
    UNKNOWN_SUBSCRIPTION_ID = 117
    TELEMETRY_TOO_LARGE = 118
    INVALID_REGISTRATION = 119
    TRANSACTION_ABORTABLE = 120
    INVALID_RECORD_STATE = 121
    SHARE_SESSION_NOT_FOUND = 122
    INVALID_SHARE_SESSION_EPOCH = 123
    FENCED_STATE_EPOCH = 124
    INVALID_VOTER_KEY = 125
    DUPLICATE_VOTER = 126
    VOTER_NOT_FOUND = 127
    INVALID_REGULAR_EXPRESSION = 128
    REBOOTSTRAP_REQUIRED = 129
    STREAMS_INVALID_TOPOLOGY = 130
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131
    STREAMS_TOPOLOGY_FENCED = 132
    SHARE_SESSION_LIMIT_REACHED = 133

    @property
    def retriable(self) -> bool:
        """Whether the Java client's exception for this code is retriable."""
        return self in _RETRIABLE


_RETRIABLE = frozenset(
    {
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.LISTENER_NOT_FOUND,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        ErrorCode.ELECTION_NOT_NEEDED,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
        ErrorCode.SHARE_SESSION_NOT_FOUND,
        ErrorCode.INVALID_SHARE_SESSION_EPOCH,
        ErrorCode.SHARE_SESSION_LIMIT_REACHED,
    }
)


MAX_NAME_CHARS = 200  # of a client's name in a text
MAX_TOPIC_CHARS = 249  # of a topic's name


def error_name(code: int) -> str:
    """Kafka's name of an error code, its number if there is no such error."""
    return ErrorCode(code).name if code in ErrorCode._value2member_map_ else str(code)


def shown(name: str) -> str:
    """A name as texts quote it; the beginning of a long one, so that the text can always be written."""
    return repr(name) if len(name) <= MAX_NAME_CHARS else f"{name[:MAX_NAME_CHARS]!r}..."


def cut(name: str) -> str:
    """A name as it stands in Kafka's texts; the beginning of one that is longer than a topic's can be.

    A request may name it once, and an answer say it for each of a hundred thousand partitions.
    """
    return name if len(name) <= MAX_TOPIC_CHARS else f"{name[:MAX_NAME_CHARS]}..."


LIKE, ABOUT_AS_LIKE = 0.6, 0.2  # of the measure of difflib, by which 1.0 is the same text
MAX_LISTED, FIRST_LISTED = 16, 5  # names in a message: all of so many, else the first
WHERE_APIS = WHERE_KINDS = "`fakebroker ctl names` lists them"
WHERE_ERRORS = "fakebroker.ErrorCode has them"


def nearest(name: object, names: Iterable[str], where: str = "") -> str:
    """The ending of a message about a wrong name: the up to three that are spelt most like it, else what there is.

    Of those only the ones that are about as much like it as the best one. Of many names the first are listed, and
    `where` says where all are: "`fakebroker ctl names` lists them".
    """
    names = list(names)
    close = spelt_alike(name, names)
    if close:
        return close
    if not names:
        return "there are none"
    if len(names) == 1:
        return f"there is only {names[0]}"
    if len(names) <= MAX_LISTED:
        return f"there are {', '.join(names)}"
    return f"there are {len(names)}: {', '.join(names[:FIRST_LISTED])}, ...{f' ({where})' if where else ''}"


def spelt_alike(name: object, names: Iterable[str], most: int = 3) -> str:
    """The question about the names that are spelt most like a wrong one, "did you mean 'x' or 'y'?"; "" if none is."""
    from difflib import SequenceMatcher

    by_folded = {one.casefold(): str(one) for one in names}
    matcher = SequenceMatcher(b=str(name).casefold())  # it prepares `b` once
    alike = []
    for each in by_folded:
        matcher.set_seq1(each)
        # The bounds from above are cheap, and most names fail them.
        if matcher.real_quick_ratio() >= LIKE and matcher.quick_ratio() >= LIKE and (ratio := matcher.ratio()) >= LIKE:
            alike.append((ratio, each))
    closest = sorted(alike, reverse=True)[:most]
    best = [by_folded[each] for ratio, each in closest if ratio >= closest[0][0] - ABOUT_AS_LIKE]
    return f"did you mean {' or '.join(map(repr, best))}?" if best else ""


def wrong_name(field: str, name: object, names: Iterable[str], where: str = "") -> str:
    """The message about a name that does not exist: "state: there is no 'Stabel'; did you mean 'Stable'?"."""
    if name is None:
        return f"{field}: is missing; {nearest('', names, where)}"
    return f"{field}: there is no {name!r}; {nearest(name, names, where)}"


class FakebrokerError(Exception):
    """The base class of this package's exceptions."""


class Unavailable(FakebrokerError):
    """Something outside of the program is missing: an address does not answer, an extra or Java is not installed."""


class CheckFailed(FakebrokerError):
    """What a command checked is not so."""


class WireError(FakebrokerError):
    """Bytes that do not decode, or a value that does not encode. The message says what and where."""


class AnswerTooLong(WireError):
    """An answer that Kafka could not encode either, because it repeats texts of the request, or one without records
    that would fill the memory. No bug of ours.

    It is answered with UNKNOWN_SERVER_ERROR.
    """


class KafkaError(FakebrokerError):
    """An error that Kafka answers with an error code.

    `message` is the text of some responses. `field` names the invalid argument, where the code does not tell.
    """

    def __init__(self, code: ErrorCode, message: str | None = None, field: str | None = None) -> None:
        super().__init__(f"{code.name}: {message}" if message else code.name)
        self.code = code
        self.message = message
        self.field = field

    @property
    def content(self) -> "ErrorContent":
        """Code and message as a value."""
        return ErrorContent(self.code, self.message)


class ErrorContent(NamedTuple):
    """Code and message of a KafkaError as a value, for errors that are kept until the answer is made.

    A kept exception keeps the frames it was raised through, and with them the request's bytes, in a cycle if one of
    these frames keeps the exception.
    """

    code: ErrorCode
    message: str | None = None


class CloseConnection(FakebrokerError):
    """Something that Kafka answers by closing the connection; the text says why, for the log."""


class SettingError(FakebrokerError):
    """An unknown setting or an invalid value; the message suggests the nearest valid one.

    `field` names the argument, `value` is the invalid value, None if unknown.
    """

    field = "config"
    value: object = None


class InvalidArgument(FakebrokerError, ValueError):
    """An invalid argument.

    `field` names the argument, `value` is its value. The message names both and says what would be right; the
    Python, HTTP and shell interfaces report all three.
    """

    def __init__(self, field: str, value: object, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.value = value


class UnknownThing(InvalidArgument):
    """The argument names something that does not exist: a node, a fault. The message lists the existing ones."""


class WrongCall(InvalidArgument, TypeError):
    """A method is called with an argument that it does not have, or without one that it needs."""


class WaitTimeout(FakebrokerError, TimeoutError):
    """A wait timed out; the message says what was expected and what was seen last."""


class ExpectationFailed(FakebrokerError, AssertionError):
    """A request matched `journal.expect(...).never(...)`; the message shows it and the requests before it."""


class ScenarioFailed(FakebrokerError, AssertionError):
    """A scenario did not come out as it says; the text has every problem, and the end of its transcript."""


class BrokerStopped(FakebrokerError, RuntimeError):
    """A wait on a broker that stopped during the wait, or is not running."""
