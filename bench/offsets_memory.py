"""What committed offsets cost in memory, in a process of its own: resident size before, with them, and after expiry.

python -m bench.offsets_memory GROUPS TOPICS PARTITIONS     prints one line of JSON
"""

import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from bench import requests as r
from bench.rows import line, section
from bench.scale import DAY_MS, World
from fakebroker.cli.main import tune_garbage_collector

GROUPS, TOPICS, PARTITIONS = 100_000, 5, 2

ABOUT = """A group takes about 2,200 bytes with its first offset, and about 290 more for each other: 104 are the stored
row, 130 its share of two dictionaries, and 53 its record in `__consumer_offsets`. The floor of this form: Python's
smallest dictionary takes 240 bytes with what the collector keeps of it, and a group has one, and one for each topic,
here of two partitions. One dictionary for each group would save about 100 of the 290 bytes, and need a key for each
partition that all groups share; half would need rows that are no objects. When all have expired, the memory that
Python has taken stays with the process for reuse. After 500,000 offsets a fifth of its megabytes is in use, but each
of them has something that lives, such as a batch of the log."""


class Sizes(NamedTuple):
    """Resident megabytes: of the broker without groups, with them, and when all have expired."""

    empty_mb: float
    full_mb: float
    expired_mb: float


def report() -> str:
    """The part of the page about the memory of offsets."""
    return section("Memory of committed offsets", ["what", "measured"], _rows()) + f"\n{ABOUT}\n"


def _rows() -> list[str]:
    offsets = GROUPS * TOPICS * PARTITIONS
    ten, one = _in_a_child(GROUPS, TOPICS, PARTITIONS), _in_a_child(GROUPS, 1, 1)
    each_group = (one.full_mb - one.empty_mb) * 1e6 / GROUPS
    each_offset = (ten.full_mb - ten.empty_mb) * 1e6 / offsets
    megabytes = ", ".join(f"{size_mb:.0f}" for size_mb in ten)
    return [
        line([f"per offset, {GROUPS:,} groups x 10 offsets, the groups' share included", f"{each_offset:.0f} bytes"]),
        line(["per group with one offset", f"{each_group:.0f} bytes"]),
        line([f"resident: empty, with {offsets:,} offsets, when all have expired", f"{megabytes} MB"]),
    ]


def _in_a_child(groups: int, topics: int, partitions: int) -> Sizes:
    command = [sys.executable, "-m", "bench.offsets_memory", str(groups), str(topics), str(partitions)]
    return Sizes(*json.loads(subprocess.check_output(command)))


def _measure(groups: int, topics: int, partitions: int) -> Sizes:
    tune_garbage_collector()  # as `fakebroker serve` does
    world = World()
    names = [f"t{n}" for n in range(topics)]
    for name in names:
        world.broker.create_topic(name, partitions=partitions)
    empty_mb = resident_mb()
    for n in range(groups):
        world.connection.receive(r.frame(r.commit(f"group-{n}", names, partitions), r.COMMIT), world.now)
        world.connection.data_to_send()
        world.engine.flush()
    full_mb = resident_mb()
    world.advance(8 * DAY_MS)
    return Sizes(empty_mb, full_mb, resident_mb())


def resident_mb() -> float:
    """Of this process, after a collection."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    print(json.dumps(_measure(*map(int, sys.argv[1:4]))))
