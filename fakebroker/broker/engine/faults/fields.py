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
        return int(text) if text.isdecimal() else text

    def schema(self, form: Form = JSON) -> Schema:  # noqa: ARG002
        return {"anyOf": [{"type": "string"}, {"type": "integer"}]}


def _pattern(text: str) -> str:
    if not text:
        raise ValueError("is empty")
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
    api: Annotated[Api | None, FaultField("match", 'the API by name; several as "Heartbeat|OffsetCommit"; wildcards')]
    version: Annotated[
        Annotated[int | str, _VERSIONS] | None, FaultField("match", 'the version of the request: 3, "3-5" or "3+"')
    ]
    node: Annotated[Number32 | None, FaultField("match", "the node that was asked")]
    topic: Annotated[Pattern | None, FaultField("match", "the topic, where a request names topics; wildcards")]
    partition: Annotated[Number32 | None, FaultField("match", "the number of a partition that the request names")]
    group: Annotated[Pattern | None, FaultField("match", "the group that the request names; wildcards")]
    client_id: Annotated[Pattern | None, FaultField("match", "what the client calls itself; wildcards")]
    transactional_id: Annotated[
        Pattern | None, FaultField("match", "the transactional id that the request names; wildcards")
    ]
    principal: Annotated[
        Pattern | None,
        FaultField(
            "match", "as whom the client is authenticated: User:alice, User:ANONYMOUS without a login; wildcards"
        ),
    ]
    connection: Annotated[Number32From1 | None, FaultField("match", "the connection, by its number in the journal")]
    when: Annotated[
        Function | None,
        FaultField("match", "a function that is given the request (IncomingRequest) and says whether it is meant"),
    ]
    # Which of them
    nth: Annotated[Number32From1 | None, FaultField("count", "only the n-th request that matches, from 1")]
    every: Annotated[Number32From1 | None, FaultField("count", "each n-th request that matches")]
    times: Annotated[Number32From1 | None, FaultField("count", "at most so many hits")]
    probability: Annotated[
        Annotated[float, _SHARE] | None,
        FaultField("count", "how probable a hit is; the same seed gives the same hits"),
    ]
    # What happens
    error: Annotated[
        Annotated[str | int, _ERROR] | None, FaultField("do", "the error the answer has, by Kafka's name or number")
    ]
    action: Annotated[
        FaultAction | None, FaultField("do", "what is done to the connection or the answer: see the actions")
    ]
    after: Annotated[
        FaultMoment | None,
        FaultField("do", "when: after the request was received, and before it is applied; or after it was applied"),
    ]
    delay_s: Annotated[
        Seconds | None, FaultField("do", "how long the request waits, or, after it was applied, its answer")
    ]
    jitter_s: Annotated[
        Seconds | None, FaultField("do", "by how much longer at most; the same seed gives the same delays")
    ]
    throttle_ms: Annotated[Number32 | None, FaultField("do", "the throttle time that the answer tells the client")]
    bytes: Annotated[
        Number32 | None, FaultField("do", "truncate: how many bytes are sent, the length before the answer among them")
    ]
    offset: Annotated[
        Number32 | None, FaultField("do", "corrupt: which byte, from 0; the first four are the length of the answer")
    ]
    for_s: Annotated[Seconds | None, FaultField("do", "stall-reading: for how long")]
    bytes_per_s: Annotated[Number32From1 | None, FaultField("do", "slow: how fast")]
    run: Annotated[
        Function | None, FaultField("do", "a function that is given the request and called on the broker's thread")
    ]


_HINTS: Final[dict[str, Any]] = FaultFields.__annotations__
FIELDS: Final[dict[str, FaultField]] = {name: hint.__metadata__[-1] for name, hint in _HINTS.items()}
FIELD_KINDS: Final[dict[str, Kind]] = {name: kind_of(hint) for name, hint in _HINTS.items()}
PYTHON_ONLY: Final = tuple(name for name, kind in FIELD_KINDS.items() if is_python_only(kind))
