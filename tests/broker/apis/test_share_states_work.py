"""How much work it is to answer many share partitions."""

import pytest

from fakebroker.broker.apis import share_states
from fakebroker.protocol.wire.messages import write_share_group_state as write
from tests.support.engine import SimEngine


def test_outcomes_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker counts which partitions are answered: to look through all after each is quadratic."""
    compared = 0

    class Outcome(share_states.Outcome):
        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return tuple.__eq__(self, other) is True

        __hash__ = share_states.Outcome.__hash__

    monkeypatch.setattr(share_states, "Outcome", Outcome)
    rows = [write.PartitionData(partition=number) for number in range(200)]
    topic = write.WriteStateData(topic_id=bytes(16), partitions=rows)
    answer = SimEngine().client().ask("WriteShareGroupState", 0, group_id="g", topics=[topic])
    assert len(answer.results[0].partitions) == 200
    assert compared == 0
