"""The fields of a fault, declared once: Python, HTTP, ctl and scenarios read them from here."""

from collections.abc import Callable
from fnmatch import translate
from typing import Annotated, Any, Final, Literal, NamedTuple, TypedDict

from fakebroker.broker.engine.faults.actions import FaultAction, FaultMoment
from fakebroker.broker.engine.faults.incoming import IncomingRequest
from fakebroker.broker.engine.faults.patterns import version_range
from fakebroker.protocol.arguments.forms import JSON, Form, Schema
from fakebroker.protocol.arguments.kinds import FUNCTION, NAME, Kind, Number, OfType, Whole, WrongValue
from fakebroker.protocol.arguments.signatures import is_python_only, kind_of
from fakebroker.protocol.arguments.types import Seconds
from fakebroker.protocol.errors import WHERE_ERRORS, ErrorCode, nearest
from fakebroker.protocol.wildcards import MAX_LENGTH
from fakebroker.protocol.wire.api_names import ApiName

MAX = 2**31 - 1


class FaultField(NamedTuple):
    """What a field is for: the part of a fault that it belongs to, and a sentence."""

    part: Literal["match", "count", "do"]
    about: str


def error_code(error: str | int) -> ErrorCode:
    """The code of a name or number. Raises KeyError or ValueError."""
    return ErrorCode[error.upper()] if isinstance(error, str) else ErrorCode(error)


class _ErrorName(Kind):
    about = "the name of one of Kafka's errors, or its number"

    def fits(self, value: Any, form: Form) -> bool:  # noqa: ARG002
        return isinstance(value, str | int) and not isinstance(value, bool)

    def value(self, value: Any, form: Form) -> Any:
        if not self.fits(value, form):
            raise self.wrong(value, form)
        try:
            code = error_code(value)
        except (KeyError, ValueError):
            hint = nearest(value, [each.name for each in ErrorCode if each], WHERE_ERRORS)
            raise WrongValue(value, f"there is no {form.shown(value)}; {hint}") from None
        if code is ErrorCode.NONE:
            raise self.wrong(value, form)
        return value

    def parsed(self, text: str) -> Any:
        return int(text) if text.isdecimal() and len(text) <= _LONGEST_NUMBER else text

    def schema(self, form: Form = JSON) -> Schema:  # noqa: ARG002
        return {"anyOf": [{"type": "string"}, {"type": "integer"}]}


_LONGEST_NUMBER = 19  # digits; Python reads no number of more than 4,300


def _pattern(text: str) -> str:
    if not text:
        raise ValueError("is empty")
    if len(text) > MAX_LENGTH:
        raise ValueError(f"has {len(text):,} characters, more than {MAX_LENGTH:,}")
    if "(?!)" in translate(text):  # what an empty range of characters, such as [z-a], becomes
        raise ValueError("matches no name: it has an empty range of characters")
    return text


def _versions(value: int | str) -> int | str:
    first, last = version_range(value)
    if not 0 <= first <= last:
        raise ValueError("is not a version, or a range of them such as '3-5' or '3+'")
    return value


_VERSIONS = OfType("a version, or a range of them such as '3-5' or '3+'", (int, str),
                   {"anyOf": [{"type": "integer"}, {"type": "string"}]}, _versions)  # fmt: skip
_PATTERN = OfType("a text", (str,), {"type": "string", "minLength": 1}, _pattern)
Api = Annotated[ApiName | str, NAME]
Pattern = Annotated[str, _PATTERN]
Number32 = Annotated[int, Whole(0, MAX)]
Number32From1 = Annotated[int, Whole(1, MAX)]
Function = Annotated[Callable[[IncomingRequest], object], FUNCTION]
_SHARE, _ERROR = Number(0, 1, is_above=True), _ErrorName()


class FaultFields(TypedDict, total=False):
    """The fields of a fault. One that is None says nothing.

    Names may have wildcards (`*`, `?`). What the broker must know for a judgement (APIs, nodes) is checked when the
    fault is set.
    """

    # Which requests
    api: Annotated[Api | None, FaultField("match", 'API, or several: "Heartbeat|OffsetCommit"; wildcards')]
    version: Annotated[
        Annotated[int | str, _VERSIONS] | None, FaultField("match", 'version of the request: 3, "3-5" or "3+"')
    ]
    node: Annotated[Number32 | None, FaultField("match", "node that the request was sent to")]
    topic: Annotated[Pattern | None, FaultField("match", "topic that the request names; wildcards")]
    partition: Annotated[Number32 | None, FaultField("match", "partition that the request names")]
    group: Annotated[Pattern | None, FaultField("match", "group that the request names; wildcards")]
    client_id: Annotated[Pattern | None, FaultField("match", "client id; wildcards")]
    transactional_id: Annotated[
        Pattern | None, FaultField("match", "transactional id that the request names; wildcards")
    ]
    principal: Annotated[
        Pattern | None,
        FaultField("match", "principal: User:alice, or User:ANONYMOUS without a login; wildcards"),
    ]
    connection: Annotated[Number32From1 | None, FaultField("match", "number of the connection in the journal")]
    when: Annotated[
        Function | None,
        FaultField("match", "whether the request (IncomingRequest) matches"),
    ]
    # Which of them
    nth: Annotated[Number32From1 | None, FaultField("count", "only the n-th match, from 1")]
    every: Annotated[Number32From1 | None, FaultField("count", "each n-th match")]
    times: Annotated[Number32From1 | None, FaultField("count", "largest number of hits")]
    probability: Annotated[
        Annotated[float, _SHARE] | None,
        FaultField("count", "probability of a hit; the same seed gives the same hits"),
    ]
    # What happens
    error: Annotated[
        Annotated[str | int, _ERROR] | None, FaultField("do", "error of the answer, by Kafka's name or number")
    ]
    action: Annotated[FaultAction | None, FaultField("do", "action on the connection or the answer")]
    after: Annotated[
        FaultMoment | None,
        FaultField("do", "when: before the request is applied (received), or after (applied)"),
    ]
    delay_s: Annotated[Seconds | None, FaultField("do", "delay of the request or, once applied, of its answer")]
    jitter_s: Annotated[
        Seconds | None, FaultField("do", "largest random addition to the delay; the same seed gives the same delays")
    ]
    throttle_ms: Annotated[Number32 | None, FaultField("do", "throttle time in the answer")]
    bytes: Annotated[
        Number32 | None, FaultField("do", "truncate: number of bytes sent, including the four of the length")
    ]
    offset: Annotated[Number32 | None, FaultField("do", "corrupt: index of the byte; the first four are the length")]
    for_s: Annotated[Seconds | None, FaultField("do", "stall-reading: duration")]
    bytes_per_s: Annotated[Number32From1 | None, FaultField("do", "slow: rate")]
    run: Annotated[Function | None, FaultField("do", "called with the request on the broker's thread")]


_HINTS: Final[dict[str, Any]] = FaultFields.__annotations__
FIELDS: Final[dict[str, FaultField]] = {name: hint.__metadata__[-1] for name, hint in _HINTS.items()}
FIELD_KINDS: Final[dict[str, Kind]] = {name: kind_of(hint) for name, hint in _HINTS.items()}
PYTHON_ONLY: Final = tuple(name for name, kind in FIELD_KINDS.items() if is_python_only(kind))
