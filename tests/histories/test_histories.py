"""Random histories, which tests of the pipeline are made of."""

import subprocess
import sys
from pathlib import Path

import pytest

from fakebroker.protocol.records.batch import parse_header
from tests.support.histories import make_history

ROOT = Path(__file__).parents[2]
_PRINT = """
from zlib import crc32
from tests.support.histories import make_history
print(crc32(repr(make_history(3, transactions=True)).encode()))
"""


def _hash_in_another_process(hash_seed: int) -> str:
    env = {"PYTHONHASHSEED": str(hash_seed)}
    done = subprocess.run([sys.executable, "-c", _PRINT], capture_output=True, text=True, check=True, env=env, cwd=ROOT)
    return done.stdout


def test_the_same_seed_is_the_same_history() -> None:
    """In every process, whatever its hash seed; another seed is another history."""
    assert _hash_in_another_process(1) == _hash_in_another_process(2)
    assert make_history(3).rows != make_history(4).rows


def test_everything_happens_in_them() -> None:
    """A dozen histories have every state, rebalances, expiries, explicit retention, tombstones, moves."""
    histories = [make_history(seed, deletes_topics=True, transactions=True) for seed in range(12)]
    rows = [row for history in histories for row in history.rows]

    assert {row["after"] for row in rows if row["kind"] == "transition"} == {
        "Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead",
    }  # fmt: skip
    assert {row["rule"] for row in rows if row["kind"] == "offset_expired"} >= {"EX-2", "EX-3", "EX-5"}
    assert {row["what"] for row in rows if row["kind"] == "coordinator_moved"} == {"loading", "loaded", "unloaded"}
    assert {"OffsetDelete", "DeleteGroups", "TxnOffsetCommit", "Heartbeat", "LeaveGroup"} <= {
        row["api"] for row in rows if row["kind"] == "request"
    }
    assert any(each.is_control for history in histories for each in history.records)
    assert {each.protocol_type for history in histories for each in history.groups.values()} == {
        None, "connect", "consumer",
    }  # fmt: skip


@pytest.mark.parametrize("as_release", ["4.3", "3.9", "2.1", "2.0"])
def test_histories_of_every_era_have_the_whole_log(as_release: str) -> None:
    """Offsets of records have no gaps, from 0 on; batches and records tell the same."""
    history = make_history(11, as_release=as_release, transactions=as_release == "4.3")

    for partition, batches in history.batches.items():
        offsets = [each.offset for each in history.records if each.partition == partition]
        assert offsets == list(range(len(offsets)))
        assert parse_header(batches[-1]).last_offset == offsets[-1]
    assert history.rows
    assert {row["run"] for row in history.rows} == {history.run}
