"""A fault as it is declared: its fields, and which go together."""

from collections.abc import Mapping
from typing import Final, Unpack

from fakebroker.broker.engine.faults.actions import ACTIONS, ANSWER_ONLY, APPLIED, RECEIVED, Action
from fakebroker.broker.engine.faults.fields import FIELD_KINDS, FIELDS, FaultFields, error_code
from fakebroker.protocol.arguments.kinds import WrongValue
from fakebroker.protocol.arguments.signatures import unknown_argument
from fakebroker.protocol.errors import ErrorCode, InvalidArgument, WrongCall


class FaultSpec:
    """One fault as it is declared. Raises InvalidArgument for invalid values, names and combinations."""

    def __init__(self, **fields: Unpack[FaultFields]) -> None:
        self.fields: FaultFields = {name: each for name, each in fields.items() if each is not None}  # type: ignore[assignment]
        for name, value in fields.items():
            if name not in FIELDS:
                raise WrongCall(name, value, f"{name}: {unknown_argument('fault', name, FIELDS)}")
            try:
                FIELD_KINDS[name].read(value)
            except WrongValue as wrong:
                raise wrong.of(name) from None
        _check_counts(self.fields)
        _check_actions(self)

    @classmethod
    def of(cls, declared: Mapping[str, object]) -> "FaultSpec":
        """The fault that these fields declare."""
        return cls(**declared)  # type: ignore[arg-type]

    def given(self) -> dict[str, object]:
        """The fields that say something, in the order of their declaration."""
        return {name: value for name in FIELDS if (value := self.fields.get(name)) is not None}

    @property
    def error_code(self) -> ErrorCode | None:
        """`error` as a code."""
        error = self.fields.get("error")
        return None if error is None else error_code(error)

    @property
    def decides(self) -> bool:
        """Whether it says what becomes of the answer: only one fault can, for one request."""
        return "error" in self.fields or "action" in self.fields

    @property
    def is_timed(self) -> bool:
        """Whether it says something that `after` moves, whatever the action."""
        return not self.fields.keys().isdisjoint(("error", "delay_s", "jitter_s", "run"))

    @property
    def moment(self) -> str:
        """When error, delay, run, and an action that has the choice are done."""
        action = self.fields.get("action")
        is_moved = "error" in self.fields or action is None or action in ANSWER_ONLY
        return self.fields.get("after") or (RECEIVED if is_moved or action is None else ACTIONS[action].moment)

    @property
    def alters_answer(self) -> bool:
        """Whether its action is done to the bytes of an answer, whatever the moment of its error and delay."""
        action = self.fields.get("action")
        return action in ANSWER_ONLY or (action == "stall-reading" and self.moment == APPLIED)

    def __str__(self) -> str:
        """All on one line: OffsetCommit, group billing: error NOT_COORDINATOR, times 2."""
        given = self.given()
        api, action = given.pop("api", "any request"), given.pop("action", None)
        parts: dict[str, list[str]] = {"match": [str(api)], "do": [str(action)] if action else [], "count": []}
        for name, value in given.items():
            parts[FIELDS[name].part].append(f"{name} {_shown(value)}")
        return f"{', '.join(parts['match'])}: {', '.join(parts['do'] + parts['count'])}"


_MORE = {"after", *(own for action in ACTIONS.values() for own in (*action.needs, *action.may))}
EFFECTS: Final = tuple(name for name, field in FIELDS.items() if field.part == "do" and name not in _MORE)
"""The fields of which a fault needs one: what it does."""


def _shown(value: object) -> str:
    return getattr(value, "__name__", repr(value)) if callable(value) else str(value)


def _check_counts(fields: FaultFields) -> None:
    if "nth" in fields and "every" in fields:
        text = "nth and every are mutually exclusive"
        raise InvalidArgument("every", fields["every"], text)
    if "nth" in fields and "times" in fields:
        raise InvalidArgument("times", fields["times"], "nth is one request; it cannot be used with times")


def _check_actions(spec: FaultSpec) -> None:
    given, chosen = spec.given(), spec.fields.get("action")
    if given.keys().isdisjoint(EFFECTS):
        raise InvalidArgument("action", None, f"a fault must say what happens: one of {', '.join(EFFECTS)}")
    for name, action in ACTIONS.items():
        for own in (*action.needs, *action.may):
            if own in given and chosen != name:
                raise InvalidArgument(own, given[own], f"{own} belongs to action={name!r}")
            if own in action.needs and own not in given and chosen == name:
                raise InvalidArgument(own, None, f"action={name!r} needs {own}: {action.about}")
    if chosen is not None:
        _check_action(chosen, ACTIONS[chosen], given, spec.is_timed)
    elif "after" in given and "throttle_ms" in given and not spec.is_timed:
        raise InvalidArgument("after", given["after"], "'after' cannot be used with throttle_ms")


def _check_action(name: str, action: Action, given: Mapping[str, object], is_timed: bool) -> None:
    for own in () if action.has_answer else ("error", "throttle_ms"):
        if own in given:
            with_answer = ", ".join(each for each, other in ACTIONS.items() if other.has_answer)
            text = f"action={name!r} sends no answer, so {own} cannot be used"
            raise InvalidArgument(own, given[own], f"{text}; action may be {with_answer}, or absent")
    if "after" in given and given["after"] not in action.moments and not is_timed:
        text = f"action={name!r} changes the answer, so after must be {APPLIED!r}"
        raise InvalidArgument("after", given["after"], text)
