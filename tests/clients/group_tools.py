"""What the tools for groups of the new protocols are asked, in a fixed order: with members, and without.

python -m tests.clients.group_tools HOST:PORT NAME > tests/data/console/NAME.txt     (of a fresh Kafka, to record it)
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.clients.committed import configure_group, create_topics, produce
from tests.clients.console import CONFIGS, CONSUMER, GROUPS, OFFSETS
from tests.clients.java_programs import JavaProgram
from tests.clients.members import Cast
from tests.clients.tool_box import ALL_GROUPS, SHARE_CONSUMER, SHARE_GROUPS, STREAMS_GROUPS, ToolBox

VIEWS = ["", " --offsets --verbose", " --state", " --state --verbose", " --members", " --members --verbose"]
LISTS = ["", " --state", " --state stable", " --state Empty"]


def values(count: int) -> list[str]:
    """Values that differ."""
    return [f"v{number}" for number in range(count)]


def consumer_groups(tools: ToolBox, cast: Cast) -> None:
    """A group of two members, one of each protocol, and what becomes of it when they have left."""
    create_topics(tools.bootstrap, orders=2)
    produce(tools.bootstrap, "orders", values(10))
    stage = cast.stage()
    topics = {"topics": "orders", "client.id": "reader"}
    members = [stage.start("consumer", **topics, **{"group.id": "billing", "group.protocol": "consumer"})]
    cast.wait("it has all partitions", lambda: len(members[0].assigned or ()) == 2 and len(members[0].read) == 10)
    _listed(tools, GROUPS, [*LISTS, " --type", " --type classic", " --type consumer,classic"])
    for view in VIEWS:
        tools.run(GROUPS, f"--describe --group billing{view}")
    members.append(stage.start("consumer", **topics, **{"group.id": "billing", "group.protocol": "classic"}))
    cast.wait("both have partitions", lambda: sorted(len(each.assigned or ()) for each in members) == [1, 1])
    tools.run_until("Stable", GROUPS, "--describe --group billing --state")
    tools.run(GROUPS, "--describe --group billing --members --verbose")
    tools.run(GROUPS, "--delete --group billing")
    tools.run(GROUPS, "--delete-offsets --group billing --topic orders")
    tools.run(GROUPS, "--reset-offsets --group billing --topic orders:0 --to-earliest --execute")
    for each in reversed(members):  # the group stays one of the new protocol
        each.stop()
    _configured(tools, "billing", "consumer.session.timeout.ms=50000,consumer.heartbeat.interval.ms=6000")
    tools.run(CONFIGS, "--alter --entity-type groups --entity-name billing --add-config consumer.session.timeout.ms=1")
    for view in VIEWS:
        tools.run(GROUPS, f"--describe --group billing{view}")
    tools.run(GROUPS, "--reset-offsets --group billing --topic orders:0 --shift-by -4 --execute")
    tools.run(CONSUMER, "--topic orders --group billing --max-messages 4 --command-property group.protocol=consumer")
    tools.run(GROUPS, "--delete-offsets --group billing --topic orders")
    tools.run(GROUPS, "--validate-regex ord.*")
    tools.run(GROUPS, "--validate-regex (?=a)b")
    tools.run(GROUPS, "--delete --group billing")
    tools.run(GROUPS, "--describe --group billing")
    tools.run(ALL_GROUPS, "--list")


def share_groups(tools: ToolBox, cast: Cast) -> None:
    """A group whose member takes some records and holds others; then without members, its offsets set and deleted."""
    create_topics(tools.bootstrap, jobs=1, tasks=1)
    configure_group(tools.bootstrap, "workers", share_auto_offset_reset="earliest")
    produce(tools.bootstrap, "jobs", values(10))
    stage = cast.stage()
    explicit = {"share.acknowledgement.mode": "explicit", "client.id": "worker"}
    member = stage.start("share", topics="jobs,tasks", **{"group.id": "workers"}, **explicit)
    cast.wait("it has read", lambda: len(member.read) == 10)
    _listed(tools, SHARE_GROUPS, LISTS)
    member.acknowledge("ACCEPT", 4)
    member.acknowledge("RELEASE", 6)
    cast.wait("it has read again", lambda: len(member.read) == 16)
    member.acknowledge("ACCEPT", 3)
    tools.run_until(r" 4\s", SHARE_GROUPS, "--describe --group workers")
    for view in VIEWS:
        tools.run(SHARE_GROUPS, f"--describe --group workers{view}")
    tools.run(SHARE_GROUPS, "--delete --group workers")
    tools.run(SHARE_GROUPS, "--delete-offsets --group workers --topic jobs")
    tools.run(SHARE_GROUPS, "--reset-offsets --group workers --topic jobs --to-earliest --execute")
    member.acknowledge("ACCEPT", 3)
    member.stop()
    _configured(tools, "workers", "share.record.lock.duration.ms=20000,share.delivery.count.limit=3")
    for view in VIEWS:
        tools.run(SHARE_GROUPS, f"--describe --group workers{view}")
    tools.run(SHARE_GROUPS, "--reset-offsets --group workers --topic jobs --to-earliest --dry-run")
    tools.run(SHARE_GROUPS, "--reset-offsets --group workers --topic jobs --to-earliest --execute")
    tools.run(SHARE_GROUPS, "--describe --group workers")
    tools.run(SHARE_CONSUMER, "--topic jobs --group workers --max-messages 10")
    tools.run(SHARE_GROUPS, "--reset-offsets --group workers --all-topics --to-latest --execute")
    tools.run(SHARE_GROUPS, "--delete-offsets --group workers --topic tasks")
    tools.run(SHARE_GROUPS, "--delete-offsets --group workers --topic nothing")
    tools.run(SHARE_GROUPS, "--describe --group workers")
    tools.run(SHARE_GROUPS, "--delete --group workers")
    tools.run(SHARE_GROUPS, "--describe --group workers")
    tools.run(SHARE_GROUPS, "--list")


def streams_groups(tools: ToolBox, cast: Cast) -> None:
    """The group of an application with one thread; then without it, its offsets set and deleted."""
    create_topics(tools.bootstrap, lines=2, counts=1)
    produce(tools.bootstrap, "lines", ["to be", "or not", "to be", "that is"])
    log, state = cast.folder / "word-count.log", cast.folder / "state"
    program = JavaProgram(
        "WordCount.java",
        [tools.bootstrap, str(state), "group.protocol=streams", "processing.guarantee=at_least_once"],
        log,
    )
    try:
        program.wait("it runs", lambda: "RUNNING" in program.printed)
        tools.run_until("8", OFFSETS, "--topic counts --time latest")
        tools.run_until("Stable", STREAMS_GROUPS, "--describe --group word-count --state")
        _listed(tools, STREAMS_GROUPS, LISTS)
        for view in VIEWS[1:]:
            tools.run(STREAMS_GROUPS, f"--describe --group word-count{view}")
        tools.run(STREAMS_GROUPS, "--delete --group word-count")
        tools.run(STREAMS_GROUPS, "--delete-offsets --group word-count --input-topic lines")
        tools.run(STREAMS_GROUPS, "--reset-offsets --group word-count --input-topic lines --to-earliest --dry-run")
        program.end()
    finally:
        program.kill()
    _configured(tools, "word-count", "streams.num.standby.replicas=1,streams.heartbeat.interval.ms=6000")
    tools.run_until("Empty", STREAMS_GROUPS, "--describe --group word-count --state")
    for view in VIEWS:
        tools.run(STREAMS_GROUPS, f"--describe --group word-count{view}")
    tools.run(STREAMS_GROUPS, "--reset-offsets --group word-count --input-topic lines --to-earliest --dry-run")
    tools.run(STREAMS_GROUPS, "--reset-offsets --group word-count --input-topic lines --to-earliest --execute")
    tools.run(STREAMS_GROUPS, "--describe --group word-count")
    tools.run(STREAMS_GROUPS, "--delete-offsets --group word-count --input-topic lines")
    tools.run(STREAMS_GROUPS, "--delete --group word-count --delete-all-internal-topics")
    tools.run(STREAMS_GROUPS, "--describe --group word-count")
    tools.run(STREAMS_GROUPS, "--list")


def _listed(tools: ToolBox, tool: str, lists: list[str]) -> None:
    for each in lists:
        tools.run(tool, f"--list{each}")
    for each in ("", " --consumer", " --share", " --streams", " --group-type consumer", " --protocol consumer"):
        tools.run(ALL_GROUPS, f"--list{each}")


def _configured(tools: ToolBox, group_id: str, settings: str) -> None:
    """Configurations are set, shown, and one of them taken back."""
    entity = f"--entity-type groups --entity-name {group_id}"
    tools.run(CONFIGS, f"--alter {entity} --add-config {settings}")
    tools.run(CONFIGS, f"--describe {entity}")
    tools.run(CONFIGS, f"--alter {entity} --delete-config {settings.partition('=')[0]}")
    tools.run(CONFIGS, f"--describe {entity}")


TRANSCRIPTS: dict[str, Callable[[ToolBox, Cast], None]] = {
    "consumer-groups": consumer_groups,
    "share-groups": share_groups,
    "streams-groups": streams_groups,
}


def transcript(name: str, bootstrap: str, folder: Path) -> str:
    """What the tools print in one of TRANSCRIPTS; `folder` is for files of the processes."""
    tools, cast = ToolBox(bootstrap, folder / "tools.log"), Cast(bootstrap, "java", folder)
    try:
        TRANSCRIPTS[name](tools, cast)
    finally:
        cast.close()
        tools.close()
    return "\n".join(tools.printed)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        print(transcript(sys.argv[2], sys.argv[1], Path(scratch)), end="")
