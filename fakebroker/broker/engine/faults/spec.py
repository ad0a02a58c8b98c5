"""The declaration of a fault: its fields, their types, and which go together.

Python, HTTP, ctl and scenarios declare faults by this class.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from fakebroker.broker.engine.faults.fields import (
    Check,
    function,
    name_pattern,
    one_of,
    seconds,
    share,
    text,
    versions,
    whole,
)
from fakebroker.protocol.errors import WHERE_ERRORS, ErrorCode, InvalidArgument, nearest

if TYPE_CHECKING:
    from fakebroker.broker.engine.faults.fault import IncomingRequest

RECEIVED, APPLIED = "received", "applied"


class Action(NamedTuple):
    """What `action` names. `needs` and `may` are the fields that belong to it; `moment` is when it is done by default,
    `moments` when it can be.
    """

    about: str
    needs: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    moment: str = APPLIED
    moments: tuple[str, ...] = (RECEIVED, APPLIED)
    has_answer: bool = True  # the client gets one, so that `error` and `throttle_ms` make sense beside it


ACTIONS = {
    "disconnect": Action("close the connection in place of an answer", moment=RECEIVED, has_answer=False),
    "drop-answer": Action("never answer; the connection stays open and serves no more requests", has_answer=False),
    "answer-twice": Action("send the answer twice", moments=(APPLIED,)),
    "truncate": Action("send the first `bytes` of the answer, then reset the connection", ("bytes",),
                       moments=(APPLIED,)),
    "corrupt": Action("flip the bits of one byte of the answer, at `offset` or at random", (), ("offset",),
                      moments=(APPLIED,)),
    "slow": Action("send the answer at `bytes_per_s`", ("bytes_per_s",), moments=(APPLIED,)),
    "stall-reading": Action("do not read the connection for `for_s`; when received, the request waits too",
                            ("for_s",)),
}  # fmt: skip
ANSWER_ONLY = tuple(name for name, action in ACTIONS.items() if action.moments == (APPLIED,))


def error_code(error: str | int) -> ErrorCode:
    """The code of a name or number. Raises KeyError or ValueError."""
    return ErrorCode[error.upper()] if isinstance(error, str) else ErrorCode(error)


def error_name(name: str, value: object) -> None:
    """Kafka's name or number of an error."""
    try:
        code = error_code(value) if isinstance(value, str | int) and not isinstance(value, bool) else ErrorCode.NONE
    except (KeyError, ValueError):
        names = [each.name for each in ErrorCode if each]
        raise InvalidArgument(
            name, value, f"Kafka has no error {value!r}: {nearest(value, names, WHERE_ERRORS)}"
        ) from None
    if code is ErrorCode.NONE:
        raise InvalidArgument(name, value, f"{name} is the name of one of Kafka's errors or its number, not {value!r}")


def _field(check: Check, about: str, part: str, python_only: bool = False) -> Any:
    return field(default=None, metadata={"check": check, "about": about, "part": part, "python_only": python_only})


@dataclass(frozen=True, kw_only=True)
class FaultSpec:
    """One fault as it is declared. A field that is None says nothing. Raises InvalidArgument for what cannot be.

    Names may have wildcards (`*`, `?`). What the broker must know for a judgement (APIs, nodes) is checked when the
    fault is set.
    """

    # Which requests
    api: str | None = _field(text, 'API, or several: "Heartbeat|OffsetCommit"; wildcards', "match")
    version: int | str | None = _field(versions, 'version of the request: 3, "3-5" or "3+"', "match")
    node: int | None = _field(whole(0), "node that the request was sent to", "match")
    topic: str | None = _field(name_pattern, "topic that the request names; wildcards", "match")
    partition: int | None = _field(whole(0), "partition that the request names", "match")
    group: str | None = _field(name_pattern, "group that the request names; wildcards", "match")
    client_id: str | None = _field(name_pattern, "client id; wildcards", "match")
    transactional_id: str | None = _field(name_pattern, "transactional id that the request names; wildcards", "match")
    principal: str | None = _field(
        name_pattern,
        "principal: User:alice, or User:ANONYMOUS without a login; wildcards",
        "match",
    )
    connection: int | None = _field(whole(1), "number of the connection in the journal", "match")
    when: "Callable[[IncomingRequest], object] | None" = _field(  # noqa: RUF009
        function, "whether the request (IncomingRequest) matches", "match", True
    )
    # Which of them
    nth: int | None = _field(whole(1), "only the n-th match, from 1", "count")
    every: int | None = _field(whole(1), "each n-th match", "count")
    times: int | None = _field(whole(1), "largest number of hits", "count")
    probability: float | None = _field(share, "probability of a hit; the same seed gives the same hits", "count")
    # What happens
    error: str | int | None = _field(error_name, "error of the answer, by Kafka's name or number", "do")
    action: str | None = _field(one_of(ACTIONS), "action on the connection or the answer", "do")
    after: str | None = _field(
        one_of((RECEIVED, APPLIED)),
        "when: before the request is applied (received), or after (applied)",
        "do",
    )
    delay_s: float | None = _field(seconds, "delay of the request or, once applied, of its answer", "do")
    jitter_s: float | None = _field(
        seconds, "largest random addition to the delay; the same seed gives the same delays", "do"
    )
    throttle_ms: int | None = _field(whole(0), "throttle time in the answer", "do")
    bytes: int | None = _field(whole(0), "truncate: number of bytes sent, including the four of the length", "do")
    offset: int | None = _field(whole(0), "corrupt: index of the byte; the first four are the length", "do")
    for_s: float | None = _field(seconds, "stall-reading: duration", "do")
    bytes_per_s: int | None = _field(whole(1), "slow: rate", "do")
    run: "Callable[[IncomingRequest], object] | None" = _field(  # noqa: RUF009
        function, "called with the request on the broker's thread", "do", True
    )

    def __post_init__(self) -> None:
        for name, value in self.given().items():
            _CHECKS[name](name, value)
        _check_counts(self)
        _check_actions(self)

    @classmethod
    def of(cls, declared: Mapping[str, object]) -> "FaultSpec":
        """The fault that these fields declare. Raises InvalidArgument, for a field that does not exist, too."""
        for name, value in declared.items():
            if name not in _CHECKS:
                hint = nearest(name, _CHECKS, "`fakebroker ctl faults add --help` lists them")
                raise InvalidArgument(name, value, f"a fault has no field {name!r}: {hint}")
        return cls(**declared)  # type: ignore[arg-type]

    def given(self) -> dict[str, object]:
        """The fields that say something, in the order of their declaration."""
        return {each.name: value for each in fields(self) if (value := getattr(self, each.name)) is not None}

    @property
    def error_code(self) -> ErrorCode | None:
        """`error` as a code."""
        return None if self.error is None else error_code(self.error)

    @property
    def decides(self) -> bool:
        """Whether it says what becomes of the answer: only one fault can, for one request."""
        return self.error is not None or self.action is not None

    @property
    def is_timed(self) -> bool:
        """Whether it says something that `after` moves, whatever the action."""
        return any(getattr(self, name) is not None for name in ("error", "delay_s", "jitter_s", "run"))

    @property
    def moment(self) -> str:
        """When error, delay, run, and an action that has the choice are done."""
        if self.after is not None:
            return self.after
        if self.error is not None or self.action is None or self.action in ANSWER_ONLY:
            return RECEIVED
        return ACTIONS[self.action].moment

    @property
    def alters_answer(self) -> bool:
        """Whether its action is done to the bytes of an answer, whatever the moment of its error and delay."""
        return self.action in ANSWER_ONLY or (self.action == "stall-reading" and self.moment == APPLIED)

    def __str__(self) -> str:
        """All on one line: OffsetCommit, group billing: error NOT_COORDINATOR, times 2."""
        given = self.given()
        api = given.pop("api", "any request")
        parts = {name: f"{name} {_shown(value)}" for name, value in given.items() if name != "action"}
        matches = [part for name, part in parts.items() if _PARTS[name] == "match"]
        done = [self.action] if self.action else []
        done += [part for name, part in parts.items() if _PARTS[name] == "do"]
        counts = [part for name, part in parts.items() if _PARTS[name] == "count"]
        return f"{', '.join([str(api), *matches])}: {', '.join(done + counts)}"


_CHECKS: dict[str, Check] = {each.name: each.metadata["check"] for each in fields(FaultSpec)}
_PARTS: dict[str, str] = {each.name: each.metadata["part"] for each in fields(FaultSpec)}
_DO = tuple(name for name, part in _PARTS.items() if part == "do" and name not in ("after", "bytes", "offset", "for_s"))


def _shown(value: object) -> str:
    return getattr(value, "__name__", repr(value)) if callable(value) else str(value)


def _check_counts(spec: FaultSpec) -> None:
    if spec.nth is not None and spec.every is not None:
        raise InvalidArgument("every", spec.every, "nth and every exclude each other: one request, or each n-th")
    if spec.nth is not None and spec.times is not None:
        raise InvalidArgument("times", spec.times, "nth is one request: it cannot be hit a number of times")


def _check_actions(spec: FaultSpec) -> None:
    if not any(getattr(spec, name) is not None for name in _DO):
        ways = ", ".join(name for name in _DO if name != "bytes_per_s")
        raise InvalidArgument("action", None, f"a fault must say what happens: one of {ways}")
    for name, action in ACTIONS.items():
        for own in (*action.needs, *action.may):
            if getattr(spec, own) is not None and spec.action != name:
                raise InvalidArgument(own, getattr(spec, own), f"{own} belongs to action={name!r}")
            if own in action.needs and spec.action == name and getattr(spec, own) is None:
                raise InvalidArgument(own, None, f"action={name!r} needs {own}: {action.about}")
    if spec.action is not None:
        _check_action(spec, ACTIONS[spec.action])
    elif spec.after is not None and spec.throttle_ms is not None and not spec.is_timed:
        raise InvalidArgument("after", spec.after, "'after' cannot be used with throttle_ms")


def _check_action(spec: FaultSpec, action: Action) -> None:
    if not action.has_answer:
        for name in ("error", "throttle_ms"):
            if (value := getattr(spec, name)) is not None:
                text = f"with action={spec.action!r} there is no answer that could have {name}"
                raise InvalidArgument(name, value, f"{text}; action may be {', '.join(_with_answer())}, or absent")
    if spec.after is not None and spec.after not in action.moments and not spec.is_timed:
        raise InvalidArgument(
            "after", spec.after, f"action={spec.action!r} is done to the answer: after can only be {APPLIED!r}"
        )


def _with_answer() -> list[str]:
    return [name for name, action in ACTIONS.items() if action.has_answer]
