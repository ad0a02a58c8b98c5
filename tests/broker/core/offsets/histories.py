"""Random lives of a group and its offsets, step by step."""

from typing import Any

from hypothesis import strategies as st

from tests.support.offsets import PASS, WEEK, OffsetsCluster
from tests.support.time import DAY, HOUR, MINUTE

DURATIONS = st.sampled_from([1, MINUTE, PASS, HOUR, DAY, 3 * DAY, WEEK - HOUR])
RETENTIONS = st.sampled_from([-1, 0, MINUTE, 2 * DAY, 20 * DAY])
STEPS = st.one_of(
    st.tuples(st.just("commit"), st.sampled_from(["t", "u"]), st.integers(0, 2), RETENTIONS),
    st.tuples(st.just("wait"), DURATIONS),
    st.tuples(st.just("join"), st.sampled_from([("t",), ("u",), ("t", "u")])),
    st.tuples(st.just("leave")),
    st.tuples(st.just("pend"), st.sampled_from(["t", "u"])),
    st.tuples(st.just("end"), st.booleans()),
)


def take(lab: OffsetsCluster, step: tuple[Any, ...]) -> None:
    """One step of a history; what does not fit the state is left out."""
    kind, *args = step
    group = lab.found()
    members = list(group.members) if group else []
    if kind == "wait":
        lab.wait(args[0])
    elif kind == "commit":
        topic, partition, retention_ms = args
        who: dict[str, Any] = {}
        if group and members:
            who = {"member_id": members[0], "generation_id_or_member_epoch": group.generation}
        lab.commit({(topic, partition): 1}, version=4, retention_time_ms=retention_ms, **who)
    elif kind == "join" and not members:
        lab.stable(topics=args[0])
    elif kind == "leave" and members:
        lab.leave(members[0])
    elif kind == "pend":
        lab.pend({(args[0], 0): 9})
    elif kind == "end":
        lab.shard().replay_end_transaction_marker(7, args[0], lab.now)
