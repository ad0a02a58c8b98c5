"""The recordings that this project is judged by, and which of them wait for later issues."""

import json
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "data"
RECORDINGS = DATA.parents[1] / "recordings" / "fakebroker_recordings"
PATHS = sorted(RECORDINGS.rglob("*.jsonl"))
WAITING: dict[str, str] = json.loads((DATA / "dialogues_waiting.json").read_text())
# Where the recorded broker was slower than usual: by how much its waits may differ from ours in virtual time.
JITTER_MS = {
    "groups/delay_extended_once": 400,  # two timers in a row, each late by a tick of Kafka's 200 ms wheel
    "cluster/zombie": 700,  # the followers took that long to fetch from the new leader (CLU-31)
    "cluster/move_consumer_group": 500,  # so did they here, and the first heartbeat waits for them
    "admin/sasl_plain": 350,  # a failed login was answered at its processor's next look, up to 300 ms after the delay
    "admin/sasl_scram": 350,
    "admin/sasl_oauthbearer": 350,
    "groups/ls_simple_group": 500,  # deleting a topic kept its disk busy
}
USUAL_JITTER_MS = 250


def name_of(path: Path) -> str:
    """ "groups/jg_initial_delay": what a recording is called in tests and in the list of those that wait."""
    return f"{path.parent.name}/{path.stem}"


def shortest_of_each_api(paths: Iterable[Path]) -> list[Path]:
    """For each API that dialogues send, the one of them that waits least; those that stand for several come once."""
    found: dict[str, Path] = {}
    for path in sorted(paths, key=waits_ms):
        for api in sorted(set(re.findall(r'"api":"(\w+)"', path.read_text()))):
            found.setdefault(api, path)
    return list(dict.fromkeys(found.values()))


@cache
def waits_ms(path: Path) -> int:
    """How long a recording takes in real time, roughly: all its waits, one after the other."""
    steps = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    return sum(step.get("for_ms", 0) + step.get("waited_ms", 0) for step in steps)
