"""What faults can do to a connection or an answer, by name, and when."""

from typing import Literal, NamedTuple

FaultAction = Literal["disconnect", "drop-answer", "answer-twice", "truncate", "corrupt", "slow", "stall-reading"]
"""What a fault does with a request."""
FaultMoment = Literal["received", "applied"]
"""When a fault strikes: before the request is carried out, or after."""
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


ACTIONS: dict[FaultAction, Action] = {
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
