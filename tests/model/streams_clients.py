"""Members of a streams group as applications are: slow to stop a task, and not sure to get an answer."""

from fakebroker.broker.core.groups.streams.messages import HeartbeatAnswer
from fakebroker.broker.core.groups.streams.tasks import NO_TASKS, Tasks, tasks_of
from fakebroker.broker.core.groups.streams.topology import Topology
from fakebroker.protocol.errors import ErrorCode, KafkaError
from tests.support.streams_groups import OneStreamsGroup

_FENCED = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND)


class StreamsClient:
    """One member. `running` are the tasks that it works on, `assigned` those of the last answer.

    It starts tasks as soon as it hears of them, and stops others when it gets round to it (`stop_others`).
    `has_missed_an_answer`: then it may never hear of tasks that it was given, which are answered once (STH-30), unless
    it joins again.
    """

    def __init__(self, one: OneStreamsGroup, member_id: str, process_id: str, topology: Topology) -> None:
        self.one = one
        self.member_id = member_id
        self.process_id = process_id
        self.topology = topology
        self.epoch = 0
        self.running = NO_TASKS
        self.assigned = NO_TASKS
        self.has_missed_an_answer = False

    def heartbeat(self, *, answer_is_lost: bool = False, reports: bool = True) -> None:
        """A heartbeat: it joins unless it has, and `reports` says whether it lists what it runs."""
        try:
            if self.epoch == 0:
                answer = self.one.join(self.member_id, self.topology, process_id=self.process_id)
            else:
                answer = self.one.send(self.member_id, self.epoch, self.running if reports else None)
        except KafkaError as error:
            self._fenced(error)
            return
        if answer_is_lost:
            self.has_missed_an_answer = True
        else:
            self._hear(answer)

    def _hear(self, answer: HeartbeatAnswer) -> None:
        self.epoch = answer.member_epoch
        if answer.tasks is not None:
            self.assigned = answer.tasks
            self.running = _union(self.running, answer.tasks)

    def stop_others(self) -> None:
        """The client stops the tasks that it was not assigned."""
        self.running = Tasks(
            *(
                tuple(task for task in runs if task in listed)
                for runs, listed in zip(self.running, self.assigned, strict=True)
            )
        )

    def stop(self) -> None:
        """It stops everything, and will join again."""
        self.epoch, self.running, self.assigned = 0, NO_TASKS, NO_TASKS
        self.has_missed_an_answer = False

    def leave(self) -> None:
        """It stops everything, and says so."""
        joined = self.epoch != 0
        self.stop()
        if joined:
            try:
                self.one.leave(self.member_id)
            except KafkaError as error:
                self._fenced(error)

    def _fenced(self, error: KafkaError) -> None:
        """It is no member any more, or not at this epoch; there is no other reason to refuse its heartbeats."""
        if error.code not in _FENCED:
            raise error
        self.stop()


def _union(one: Tasks, other: Tasks) -> Tasks:
    return tasks_of(*((*ours, *theirs) for ours, theirs in zip(one, other, strict=True)))
