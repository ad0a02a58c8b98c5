"""Questions to the share coordinator about several share partitions; the answers are kept until the last has come."""

from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING

from fakebroker.broker.core.share_state.states import NO_STATE, CodeAnswer, SharePartition, ShareState, StateAnswer
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.instant import Instant

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fakebroker.broker.core.share_state.asking import ShareStateNode

PARTITIONS_PER_STEP = 500


def _nothing(_codes: "Mapping[SharePartition, ErrorCode]", _now: Instant) -> None:
    """Nobody waits any more."""


class PendingAnswers:
    """Calls `done` once with the codes of all `keys`, in their order, when each was answered.

    With no keys at all nobody is asked and nobody answers, so `done` is never called: `ask_all` sees to that.
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
                self.finish(now)

        return answered

    def finish(self, now: Instant) -> None:
        """Call `done`, which may refer to these answers: after it, nothing of them is left in a cycle."""
        done, self._done = self._done, _nothing
        done(self.codes, now)


def ask_all(
    node: "ShareStateNode",
    pending: PendingAnswers,
    ask: Callable[[SharePartition, Instant], None],
    now: Instant,
) -> None:
    """Ask about each of the keys of `pending`, in steps; without any, they are answered at once."""
    if not pending.codes:
        pending.finish(now)
        return
    passes = node.cluster.timers.passes

    def steps() -> Generator[None, None, None]:
        incarnation, pace = node.incarnation, passes.pace(PARTITIONS_PER_STEP)
        for key in list(pending.codes):
            ask(key, passes.now)
            if pace.is_over():
                yield
                if node.incarnation != incarnation:
                    return  # the process that asks has ended: nobody waits for an answer

    passes.begin(steps(), lambda _nothing, _now: None, now)
