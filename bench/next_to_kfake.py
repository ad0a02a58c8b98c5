"""Ours next to kfake (franz-go's fake cluster, in Go): both take turns in one run.

    python -m bench.next_to_kfake [--rounds N] [--seconds S] [--only TEXT]

kfake is compiled as for the scoreboard (tools/scoreboard/kfake), which needs Go; without it the page says so.
"""

import argparse
import statistics
import tempfile
from collections.abc import Callable

from bench import requests as r
from bench.cases import GROUP, KIB_16, REQUESTS, TOPIC, Case, commit, create_topics, fetch, heartbeat, produce, unlike
from bench.driver import Address, Rate, ask, connect, load, median_and_spread
from bench.pythons import change_to, fast_python
from bench.rows import line, section, verdict
from bench.targets import Target, fakebroker
from bench.work import OURS
from fakebroker.protocol.schema import Message
from fakebroker.protocol.wire.messages.find_coordinator import FindCoordinatorRequest
from tools.scoreboard.targets import KFAKE, why_no_kfake

FIND_COORDINATOR = 3
ABOUT = """In the closed loop we make one `recv` and one `send` for each request, and one `epoll_wait` for 18 of them:
none can be left out (`strace -c -f`, 2026-11-28). librdkafka's mock makes three `recvmsg` and a `sendmsg`, kfake three
`read` and a `write`. The kernel takes 5.6 us of a request of ours, 9.5 of one of the mock's, 7.6 of one of kfake's.
The rest is Python: 44,000 instructions, of which a pipelined heartbeat takes 19,000, and 25,000 come with a read and a
write for each: loop, clock, framing, flush. Of Fetch 16 KiB 3.5 us are the kernel's (one `sendmsg` for 13 answers,
mostly the copy), and 58,000 instructions ours. Of Produce 16 KiB unlike, bounded, 3.7 us are the kernel's, and nearly
all else, 180,000 instructions, is the look at each of the 16 records, which the mock does not take."""
HEADER = ["case", "connections x in flight", "ours/s", "us", "kfake/s", "us", "ratio (spread)", "goal"]


def _alike(request: Message, version: int) -> list[bytes]:
    """The same request again and again, with other correlation ids."""
    return [r.frame(request, version, number) for number in range(REQUESTS)]


def api_versions(_: Address) -> list[bytes]:
    return _alike(r.which_versions(), r.API_VERSIONS)


def metadata(address: Address) -> list[bytes]:
    """Of ten topics with ten partitions each."""
    names = [f"{TOPIC}-{number}" for number in range(10)]
    create_topics(address, dict.fromkeys(names, 10))
    return _alike(r.ask_for(names), r.METADATA)


def find_coordinator(address: Address) -> list[bytes]:
    request = FindCoordinatorRequest(key=GROUP, key_type=0)
    with connect(address) as sock:
        assert ask(sock, request, FIND_COORDINATOR).error_code == 0
    return _alike(request, FIND_COORDINATOR)


def list_offsets(address: Address) -> list[bytes]:
    """Of one partition, by a time that goes on."""
    create_topics(address, {TOPIC: 1})
    with connect(address) as sock:
        for number in range(64):
            ask(sock, r.produce(TOPIC, r.batch(*KIB_16, r.FIRST_MS + 16 * number)), r.PRODUCE)
    return [r.frame(r.offset_at(TOPIC, r.FIRST_MS + number), r.LIST_OFFSETS, number) for number in range(1_000)]


def offset_fetch(partitions: int) -> Callable[[Address], list[bytes]]:
    """Of all offsets of a group with so many."""

    def prepare(address: Address) -> list[bytes]:
        create_topics(address, {TOPIC: partitions})
        with connect(address) as sock:
            ask(sock, r.commit("all", [TOPIC], partitions), r.COMMIT)
        return _alike(r.all_offsets("all"), r.OFFSET_FETCH)

    return prepare


CASES = [
    Case("ApiVersions", 8, 64, 1.0, api_versions),
    Case("Metadata of 10 topics x 10 partitions", 8, 32, 1.0, metadata),
    Case("FindCoordinator", 8, 64, 1.0, find_coordinator),
    Case("Heartbeat", 8, 64, 1.0, heartbeat),
    Case("Heartbeat, closed loop", 64, 1, 1.0, heartbeat),
    Case("OffsetCommit of 1 partition", 8, 64, 1.0, commit(1, 1)),
    Case("OffsetCommit of 100 partitions (25 topics x 4)", 8, 20, 1.0, commit(25, 4)),
    Case("OffsetFetch of 1 partition", 8, 64, 1.0, offset_fetch(1)),
    Case("OffsetFetch of 100 partitions", 8, 32, 1.0, offset_fetch(100)),
    Case("ListOffsets by time", 8, 64, 1.0, list_offsets),
    Case("Produce 16 KiB (16 records unlike)", 4, 16, 1.0, produce(unlike(*KIB_16))),
    Case("Fetch 16 KiB", 4, 16, 1.0, fetch(*KIB_16)),
]


def kfake() -> Target:
    """kfake with its own settings."""
    with tempfile.NamedTemporaryFile("w", suffix=".properties") as settings:
        # It says nothing; `exec` keeps its process id.
        script = 'echo "listening on 127.0.0.1:$1"; exec "$0" "$1" "$2"'
        return Target("kfake", ["sh", "-c", script, str(KFAKE), "{port}", settings.name])


def row(case: Case, rounds: int, seconds: float) -> str:
    """Rates and CPU per request of both, medians of all rounds; their ratio with its spread; the goal."""
    targets = [fakebroker(*OURS, *case.config), kfake()]
    try:
        requests = [case.prepare(target.address) for target in targets]
        rates: tuple[list[Rate], list[Rate]] = [], []
        for number in range(rounds + 1):
            for index in (0, 1) if number % 2 else (1, 0):
                rate = load(targets[index], requests[index], case.connections, case.depth, seconds)
                if number:  # the first is to get warm
                    rates[index].append(rate)
    finally:
        for target in targets:
            target.stop()
    cells = [case.name, f"{case.connections} x {case.depth}"]
    for of_target in rates:
        cells.append(f"{statistics.median(rate.per_second for rate in of_target):,.0f}")
        cells.append(f"{statistics.median(rate.cpu_us for rate in of_target):.1f}")
    ratios = [ours.per_second / theirs.per_second for ours, theirs in zip(*rates, strict=True)]
    ratio, low, high = median_and_spread(ratios)
    goal = f"{case.goal} {verdict(ratio >= (case.goal or 0))}"
    return line([*cells, f"{ratio:.2f} ({low:.2f} .. {high:.2f})", goal])


def report(rounds: int, seconds: float, only: str = "") -> str:
    """The part of the page about kfake."""
    title = "Work, next to kfake (Go, which may use all cores)"
    if (why := why_no_kfake()) is not None:
        return f"## {title}\n\nNot measured: {why}.\n"
    rows = [row(case, rounds, seconds) for case in CASES if only.lower() in case.name.lower()]
    return section(title, HEADER, rows) + f"\n{ABOUT}\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--only", default="", help="only the cases whose name contains this text")
    options = parser.parse_args()
    change_to(fast_python(), "bench.next_to_kfake")
    report(options.rounds, options.seconds, options.only)


if __name__ == "__main__":
    main()
