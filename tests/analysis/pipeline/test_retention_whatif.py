"""The retention what-if: both engines, and what it says of small histories."""

from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fakebroker.analysis.pipeline.tables.retention_losses import DAY_MS, WhatifOptions
from fakebroker.protocol.records.offsets_topic import TopicPartition, stored_offset
from tests.support.chance import examples
from tests.support.histories import make_history
from tests.support.history_replay import Committed, GroupChanged, Input, OffsetDeleted, replay
from tests.support.tables_made import READS, retention_losses, retention_whatif
from tests.support.whatif_histories import as_expired, tables_of_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = dict[str, Any]
MINUTE_MS = 60_000
PASS_MS = 10 * MINUTE_MS
START_MS = 1_767_225_600_000
RETENTIONS_MS = (PASS_MS, 2 * PASS_MS, 6 * PASS_MS)
OPTIONS = WhatifOptions(RETENTIONS_MS, 7 * DAY_MS, since_ms=START_MS, until_ms=START_MS + 60 * PASS_MS)


def commit_row(place: int, after_ms: int, **columns: Any) -> Row:
    """A row of commits, of group "g" for orders-0."""
    at_ms = START_MS + after_ms
    return {
        "source": "log", "log_partition": 0, "log_offset": place, "seq": None, "part": None,
        "group_id": "g", "topic": "orders", "partition": 0, "committed_offset": place, "committed_at": at_ms,
        "expires_at": None, "transactional": False, "outcome": "committed", "producer_id": None,
        "at": at_ms, "applied_at": at_ms, "applied_log_offset": place, **columns,
    }  # fmt: skip


def state_row(place: int, after_ms: int, state: str, topics: list[str] | None = None, **columns: Any) -> Row:
    """A row of group_states, of group "g"."""
    at_ms = START_MS + after_ms
    return {
        "source": "log", "log_partition": 0, "log_offset": place, "seq": None, "part": None,
        "group_id": "g", "group_type": "classic", "state": state, "protocol_type": "consumer",
        "subscribed_topics": topics, "state_at": at_ms, "began_at": at_ms, "ended_at": None, "reason": None, **columns,
    }  # fmt: skip


def lost(commits: list[Row], states: list[Row] = [], ends: list[Row] = [], **options: Any) -> list[Row]:  # noqa: B006
    """The losses with the shortest retention, ten minutes."""
    chosen = OPTIONS._replace(retentions_ms=(PASS_MS,), **options)
    return retention_losses(commits, [], states, [], ends, options=chosen)


def test_a_loss_says_when_and_by_which_rule() -> None:
    """The row names the commit, when it was due, when the cleanup deletes it and the rule."""
    (row,) = lost([commit_row(3, 1)])

    assert (row["log_offset"], row["due_at"], row["lost_at"]) == (3, START_MS + 1 + PASS_MS, START_MS + 2 * PASS_MS)
    assert (row["rule"], row["came_back_at"], row["read_again_records"]) == ("EX-3", None, None)


def test_a_group_that_comes_back_meets_its_loss() -> None:
    """The next commit, or members that read the topic, end the absence; the log's ends say what it costs."""
    back_ms = START_MS + 5 * PASS_MS
    end = {"source": "log", "topic": "orders", "partition": 0, "log_start_offset": 1, "log_end_offset": 40}
    ends = [{**end, "at": back_ms, "seq": None, "part": None}]
    others = [state_row(2, 4 * PASS_MS, "Stable", ["other"])]

    (row, *_) = lost([commit_row(3, 1), commit_row(9, 5 * PASS_MS)], others, ends)
    assert (row["came_back_at"], row["read_again_records"], row["skipped_records"]) == (back_ms, 2, 37)

    (row,) = lost([commit_row(3, 1)], [state_row(4, 5 * PASS_MS, "Stable", ["orders"])], ends)
    assert row["came_back_at"] == back_ms


def test_the_loss_of_a_negative_offset_costs_nothing() -> None:
    """Clients take it for none, and begin where they would without it."""
    back_ms = START_MS + 5 * PASS_MS
    end = {"source": "log", "topic": "orders", "partition": 0, "log_start_offset": 1, "log_end_offset": 40}
    (row, *_) = lost(
        [commit_row(3, 1, committed_offset=-(2**63)), commit_row(9, 5 * PASS_MS)],
        ends=[{**end, "at": back_ms, "seq": None, "part": None}],
    )

    assert (row["came_back_at"], row["read_again_records"], row["skipped_records"]) == (back_ms, 0, 0)


def test_a_tombstone_of_the_recorded_retention_is_no_deletion() -> None:
    """What expired when it was recorded would live under a longer retention; what somebody deleted would not."""
    gone = {"committed_offset": None, "committed_at": None}
    expired = [commit_row(1, 0), commit_row(2, 20 * PASS_MS, **gone)]
    longer = OPTIONS._replace(retentions_ms=(30 * PASS_MS,), recorded_retention_ms=19 * PASS_MS)
    deleted = longer._replace(recorded_retention_ms=21 * PASS_MS)

    (row,) = retention_losses(expired, [], [], [], [], options=longer)
    assert row["lost_at"] == START_MS + 30 * PASS_MS
    assert retention_losses(expired, [], [], [], [], options=deleted) == []


def test_groups_of_the_newer_protocol_count_from_commits() -> None:
    """CGO-10: a topic that is read is kept; else, and when the group is Empty, the commit counts."""
    newer = {"group_type": "consumer"}
    kept = [state_row(0, 0, "Stable", ["orders"], **newer)]
    emptied = [*kept, state_row(4, 3 * PASS_MS, "Empty", [], **newer)]

    assert lost([commit_row(3, 1)], kept) == []
    (row,) = lost([commit_row(3, 1)], emptied)
    assert (row["rule"], row["lost_at"]) == ("CGO-10", START_MS + 4 * PASS_MS)


def test_a_clock_that_goes_back_takes_no_cleanup_back() -> None:
    """What comes later in the log happens later, whatever its time."""
    late = commit_row(2, 25 * MINUTE_MS, group_id="other")
    early = commit_row(3, 1 * MINUTE_MS)

    rows = [row for row in lost([late, early]) if row["group_id"] == "g"]

    assert [row["lost_at"] for row in rows] == [START_MS + 3 * PASS_MS]


def test_a_longer_retention_may_lose_what_a_shorter_one_keeps() -> None:
    """With the shorter one the Empty group is gone before somebody commits, and the commit makes a simple group."""
    states = [state_row(0, 0, "Empty")]
    commits = [commit_row(1, 1), commit_row(2, 5 * PASS_MS + 1, partition=1)]
    options = OPTIONS._replace(retentions_ms=(5 * PASS_MS, 6 * PASS_MS), until_ms=START_MS + 9 * PASS_MS)

    rows = retention_losses(commits, [], states, [], [], options=options)

    assert {(row["retention_ms"] // PASS_MS, row["partition"]) for row in rows} == {(5, 0), (6, 0), (6, 1)}


def test_a_row_for_each_group_and_retention() -> None:
    """Groups that lose nothing are there, too."""
    commits = [commit_row(1, 1), commit_row(2, 5, partition=1), commit_row(3, 59 * PASS_MS, group_id="other")]
    losses = retention_losses(commits, [], [], [], [], options=OPTIONS)

    rows = {
        (row["group_id"], row["retention_ms"] // PASS_MS): row
        for row in retention_whatif(commits, losses, options=OPTIONS)
    }

    assert len(rows) == 6
    assert (rows["g", 6]["partitions"], rows["g", 6]["lost_offsets"], rows["g", 6]["came_back"]) == (2, 2, False)
    assert (rows["other", 6]["lost_offsets"], rows["other", 6]["first_lost_at"]) == (0, None)


def test_a_commit_of_a_transaction_is_overtaken_by_each_newer_one() -> None:
    """Also among commits that nothing can lose: the transaction ends, and its offset is not there."""
    late = {"transactional": True, "producer_id": 1, "applied_at": START_MS + 4, "applied_log_offset": 4}
    commits = [commit_row(1, 1), commit_row(2, 2, **late), commit_row(3, 3)]
    options = OPTIONS._replace(retentions_ms=(4 * PASS_MS,))

    assert [row["committed_offset"] for row in retention_losses(commits, [], [], [], [], options=options)] == [3]


# -- small histories, as bad as they can be -----------------------------------------------------------------------

_TIMES = st.integers(0, 12).map(lambda number: number * PASS_MS // 2) | st.integers(0, 6 * PASS_MS)
_KINDS = st.sampled_from(["commit", "commit", "own", "delete", "Stable", "Stable other", "Empty", "PreparingRebalance"])
_HAPPENINGS = st.lists(st.tuples(_TIMES, _KINDS, st.integers(0, 1), _TIMES), max_size=12)


def _both(happened: list[tuple[int, str, int, int]]) -> tuple[list[Row], list[Row], list[Input]]:
    """A history as rows, and as inputs of a replay."""
    commits: list[Row] = []
    states: list[Row] = []
    inputs: list[Input] = []
    for place, (after_ms, kind, partition, own_ms) in enumerate(sorted(happened, key=lambda each: each[0])):
        at_ms = START_MS + after_ms
        if kind in ("commit", "own"):
            expires_ms = at_ms + own_ms if kind == "own" else None
            commits.append(commit_row(place, after_ms, partition=partition, expires_at=expires_ms))
            stored = stored_offset("orders", partition, place, commit_ms=at_ms, expire_ms=expires_ms or -1)
            inputs.append(Committed(at_ms, "g", stored))
        elif kind == "delete":
            gone = {"committed_offset": None, "committed_at": None, "partition": partition}
            commits.append(commit_row(place, after_ms, **gone) | {"log_offset": place})
            inputs.append(OffsetDeleted(at_ms, "g", TopicPartition("orders", partition)))
        else:
            state, topics = kind.split()[0], ["other"] if "other" in kind else ["orders"]
            states.append(state_row(place, after_ms, state, topics))
            inputs.append(GroupChanged(at_ms, "g", state, "consumer", frozenset(topics), at_ms))
    return commits, states, inputs


_LONG: Final = (4 * PASS_MS, 5 * PASS_MS, 9 * PASS_MS)
# Offset 1 or 2 lies between others of its partition within the shortest of these: it expires by itself; it is lost as
# its group is Empty; it keeps an Empty group from being removed, whose offset was deleted.
_EXPIRES = [(1, "commit", 0, 0), (PASS_MS + 1, "own", 0, PASS_MS), (3 * PASS_MS + 1, "commit", 0, 0)]
_IS_EMPTY = [(1, "Empty", 0, 0), (2, "commit", 0, 0), *((4 * PASS_MS + n, "commit", 0, 0) for n in (1, 2, 2 * PASS_MS))]
_KEEPS = [
    (1, "Empty", 0, 0), (2, "commit", 0, 0), (PASS_MS + 1, "delete", 0, 0), (PASS_MS + 2, "commit", 0, 0),
    (3 * PASS_MS + 1, "commit", 0, 0),
]  # fmt: skip


@examples(60)
@given(_HAPPENINGS, st.sampled_from([RETENTIONS_MS, _LONG]))
@example(_EXPIRES, _LONG)
@example(_IS_EMPTY, _LONG)
@example(_KEEPS, _LONG)
def test_small_histories(happened: list[tuple[int, str, int, int]], retentions_ms: tuple[int, ...]) -> None:
    """Ties, bounds of cleanups, retentions of their own, states between cleanups: the broker does the same."""
    happened = [each for each in happened if not (each[1] == "own" and any(other[1] == "delete" for other in happened))]
    commits, states, inputs = _both(happened)
    options = OPTIONS._replace(retentions_ms=retentions_ms)

    losses = retention_losses(commits, [], states, [], [], options=options)

    for retention_ms in retentions_ms:
        expired = replay(inputs, retention_ms=retention_ms, since_ms=START_MS, until_ms=START_MS + 60 * PASS_MS)
        assert as_expired(losses, retention_ms) == sorted(expired)


# -- Spark ----------------------------------------------------------------------------------------------------------


@pytest.mark.spark
@pytest.mark.parametrize("shortest_ms", [PASS_MS, 36 * PASS_MS])
def test_spark_says_the_same(spark: "SparkSession", shortest_ms: int) -> None:
    """Both engines give the same rows for random histories in one table, also where the clock went back."""
    from fakebroker.analysis.pipeline.engines import make
    from fakebroker.analysis.pipeline.rows import from_arrow
    from fakebroker.analysis.pipeline.spark_engine import SparkEngine
    from fakebroker.analysis.pipeline.tables import table

    tables: dict[str, list[Row]] = {"commits": [], "coordinator_records": [], "group_states": [], "log_ends": []}
    for seed in range(8):
        history = make_history(seed, steps=80, transactions=seed % 2 == 1, steps_back=seed % 4 == 2)
        for name, rows in tables_of_log(history)._asdict().items():
            tables[name] += rows
        for row in tables["commits"][::40]:  # brokers store them
            row["committed_offset"] = row["committed_offset"] and (-1, -(2**63))[seed % 2]
        tables["log_ends"] += _log_ends(history.of_kind("records_appended"))
    options = WhatifOptions((shortest_ms, DAY_MS, 10 * DAY_MS))
    losses = retention_losses(*(tables.get(name, []) for name in READS["retention_losses"]), options=options)
    engine = SparkEngine(spark)
    frames = {name: engine.frame(table(name), rows) for name, rows in tables.items()}

    for name, expected in (
        ("retention_losses", losses),
        ("retention_whatif", retention_whatif(tables["commits"], losses, options=options)),
    ):
        frames[name] = engine.frame(table(name), expected)
        made = from_arrow(make(engine, name, frames, options).toArrow())
        assert _sorted(made) == _sorted(expected)


def _log_ends(appended: list[Row]) -> list[Row]:
    return [
        {
            "source": row["run"], "topic": row["topic"], "partition": row["partition"],
            "log_start_offset": 0 if row["seq"] % 3 else None, "log_end_offset": row["base_offset"] + row["records"],
            "at": row["wall_ms"], "seq": row["seq"], "part": row["part"],
        }
        for row in appended
    ]  # fmt: skip


def _sorted(rows: list[Row]) -> list[str]:
    return sorted(str(sorted(row.items())) for row in rows)
