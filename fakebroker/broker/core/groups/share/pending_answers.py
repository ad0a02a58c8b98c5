"""Answers of the share coordinator about several share partitions, kept until the last has come."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from fakebroker.broker.core.share_state.states import NO_STATE, CodeAnswer, SharePartition, ShareState, StateAnswer
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from collections.abc import Mapping


class PendingAnswers:
    """Calls `done` once with the codes of all `keys`, in their order, when each was answered.

    With no keys at all nobody is asked and nobody answers, so `done` is never called: the caller sees to that.
    """

    def __init__(
        self, keys: Iterable[SharePartition], done: "Callable[[Mapping[SharePartition, ErrorCode], Instant], None]"
    ) -> None:
        self.codes: dict[SharePartition, ErrorCode] = dict.fromkeys(keys, ErrorCode.NONE)
        self.states: dict[SharePartition, ShareState] = dict.fromkeys(self.codes, NO_STATE)
        self._missing = len(self.codes)
        self._done = done

    def one_for(self, key: SharePartition) -> CodeAnswer:
        """What the share coordinator calls with the code of one."""
        state_answer = self.state_for(key)
        return lambda code, now: state_answer(code, NO_STATE, now)

    def state_for(self, key: SharePartition) -> StateAnswer:
        """What the share coordinator calls with the code and the state of one."""

        def answered(code: ErrorCode, state: ShareState, now: Instant) -> None:
            self.codes[key], self.states[key] = code, state
            self._missing -= 1
            if not self._missing:
                self._done(self.codes, now)

        return answered
