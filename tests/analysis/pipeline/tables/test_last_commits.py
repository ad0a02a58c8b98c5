"""The last commits of a history are the committed offsets of the broker in the end."""

import pytest

from fakebroker.analysis.history.decode import decode_record
from tests.analysis.pipeline.silver_inputs import SEEDS, history, journal_rows, log_records
from tests.support.tables_made import commits

pytestmark = pytest.mark.random


@pytest.mark.parametrize("seed", SEEDS)
def test_the_last_commits_of_a_log_are_the_offsets_in_the_end(seed: int) -> None:
    """Of what took effect the last record counts, also if another one's transaction ended later; a tombstone too."""
    decoded = [row for record in log_records(seed) for row in decode_record(record)]
    applied = [row for row in commits(decoded, []) if row["applied_log_offset"] is not None]
    last = {
        (row["group_id"], row["topic"], row["partition"]): row["committed_offset"]
        for row in sorted(applied, key=lambda row: (row["log_partition"], row["log_offset"]))
    }

    assert {key: offset for key, offset in last.items() if offset is not None} == _in_the_end(seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_last_commits_of_a_journal_are_the_offsets_in_the_end(seed: int) -> None:
    """Those outside of transactions, but for what expired or was deleted since: all that the broker has otherwise."""
    found: dict[tuple[str, str, int], int] = {}
    in_transactions: set[tuple[str, str, int]] = set()
    for row in journal_rows(seed):
        key = row["group"], row["topic"], row["partition"]
        if row["kind"] == "offset_committed" and row["transactional"]:
            in_transactions.add(key)
        elif row["kind"] == "offset_committed":
            found[key] = row["offset"]
        elif row["kind"] in ("offset_expired", "offset_deleted"):
            found.pop(key, None)

    expected = _in_the_end(seed)

    assert {key: offset for key, offset in found.items() if key not in in_transactions} == {
        key: offset for key, offset in expected.items() if key not in in_transactions
    }


def _in_the_end(seed: int) -> dict[tuple[str, str, int], int]:
    return {
        (group_id, *partition): stored.offset
        for group_id, end in history(seed).groups.items()
        for partition, stored in end.offsets.items()
    }
