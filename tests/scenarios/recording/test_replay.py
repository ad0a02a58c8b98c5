"""What clients did against a recorded broker is done again in virtual time, and every answer means the same."""

import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from fakebroker import FakeBroker
from fakebroker.cli.main import main
from fakebroker.client.security import ClientConfig
from fakebroker.protocol.listeners import SASL_PLAINTEXT
from fakebroker.scenarios.recording.scenario_file import written
from fakebroker.scenarios.recording.survey import CommitBefore, survey
from fakebroker.scenarios.recording.tcp_target import tcp_target
from fakebroker.scenarios.recording.to_scenario import scenario_of
from tests.scenarios.recording.recorded import SESSIONS, lines_of, recorder, replayed, unexplained, write_lines
from tests.support.secured import SECURED, command_config, secured_broker

Line = dict[str, Any]


def changed(lines: list[Line], api: str, change: Callable[[Line], bool]) -> int:
    """Change the message of the first answer of an API that `change` takes; its number in the file."""
    for number, line in enumerate(lines, 1):
        if line["kind"] == "answer" and line["api"] == api and "message" in line and change(line["message"]):
            return number
    raise AssertionError(f"no answer of {api} to change")


@contextmanager
def _broker_with_records() -> Iterator[FakeBroker]:
    """A broker with a topic of two partitions, and two records in the first."""
    with FakeBroker() as broker:
        broker.create_topic("orders", 2)
        broker.topic("orders").produce("before", "the recording")
        yield broker


def output_of_command(path: Path, *options: str) -> tuple[int, str]:
    outcome = CliRunner().invoke(main, ["replay", str(path), *options])
    return outcome.exit_code, outcome.output


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_sessions_of_a_real_kafka_have_no_unexplained_difference(path: Path) -> None:
    """What Java, librdkafka and kafkajs did against Kafka 4.3.1 is answered here as it was there."""
    assert unexplained(path) == []


@pytest.mark.clients
def test_what_confluent_kafka_did_here_is_answered_alike(tmp_path: Path) -> None:
    """A session recorded in front of fakebroker replays without any difference."""
    from tests.scenarios.recording.clients.story import main

    path = tmp_path / "s.jsonl"
    with FakeBroker() as broker, recorder(broker.bootstrap, path) as bootstrap:
        main(bootstrap)

    assert unexplained(path) == []


@pytest.mark.clients
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of kafka-python
def test_what_kafka_python_did_here_is_answered_alike(tmp_path: Path) -> None:
    """The same with another client: it produces, consumes in a group, commits and leaves."""
    from kafka import KafkaConsumer, KafkaProducer

    path = tmp_path / "s.jsonl"
    with _broker_with_records() as broker, recorder(broker.bootstrap, path) as bootstrap:
        producer = KafkaProducer(bootstrap_servers=bootstrap)
        for number in range(20):
            producer.send("orders", b"%d" % number, partition=number % 2).get(30)
            if number == 10:
                broker.topic("orders").produce("from", "somebody else", partition=1)
        consumer = KafkaConsumer("orders", bootstrap_servers=bootstrap, group_id="g", auto_offset_reset="earliest")
        seen, deadline = 0, time.monotonic() + 60
        while seen < 24 and time.monotonic() < deadline:
            seen += sum(map(len, consumer.poll(500).values()))
        consumer.commit()
        consumer.close()
        producer.close()

    assert seen == 24
    assert unexplained(path) == []
    made = written(scenario_of(path), path.name)
    assert made.problems == []
    assert "answered otherwise" not in made.text


NODES = ("NodeId", "BrokerId", "LeaderId", "ControllerId", "ReplicaNodes", "IsrNodes", "node")


def renumbered(value: Any, numbers: dict[int, int], key: str = "") -> Any:
    """A line in which the brokers have other numbers."""
    if isinstance(value, dict):
        return {name: renumbered(each, numbers, name) for name, each in value.items()}
    if isinstance(value, list):
        return [renumbered(each, numbers, key) for each in value]
    return numbers.get(value, value) if key in NODES and isinstance(value, int) else value


@pytest.mark.clients
def test_a_cluster_is_as_the_recorded_one_was(tmp_path: Path) -> None:
    """Partitions and coordinators are where they were, though a broker of ours would have put them elsewhere."""
    from tests.scenarios.recording.clients.story import main

    path = tmp_path / "s.jsonl"
    with FakeBroker(nodes=3) as broker, recorder(broker.bootstrap.partition(",")[0], path) as bootstrap:
        main(bootstrap)
    assert unexplained(path) == []

    for numbers in ({1: 3, 3: 1}, {1: 11, 2: 5, 3: 7}):
        other = write_lines(tmp_path / "other.jsonl", [renumbered(line, numbers) for line in lines_of(path)])
        assert unexplained(other) == []


@pytest.mark.parametrize(
    ("api", "change", "path", "ours"),
    [
        ("JoinGroup", lambda m: m["ErrorCode"] == 0 and bool(m.update(ProtocolName="x")) is False, ".ProtocolName", ""),
        ("Heartbeat", lambda m: bool(m.update(ErrorCode=25)) is False, ".ErrorCode", "0, recorded 25"),
    ],
)
def test_a_changed_answer_is_a_difference(
    tmp_path: Path, api: str, change: Callable[[Line], bool], path: str, ours: str
) -> None:
    """It is reported with file, line, API and field, and the command fails."""
    lines = lines_of(SESSIONS[0])
    number = changed(lines, api, change)
    file = write_lines(tmp_path / "s.jsonl", lines)

    status, output = output_of_command(file)

    assert status == 1
    assert f"{file}:{number}: {api} v" in output
    assert f"{path}: " in output
    assert ours in output
    assert "1 unexplained" in output


def test_another_record_is_a_difference(tmp_path: Path) -> None:
    """Records are compared by what is in them, wherever the answers were cut."""
    lines = lines_of(SESSIONS[0])
    number = changed(lines, "Fetch", _with_another_record)
    file = write_lines(tmp_path / "s.jsonl", lines)

    status, output = output_of_command(file)

    assert status == 1
    assert f"{file}:{number}: Fetch" in output
    assert "another record" in output


def _with_another_record(message: Line) -> bool:
    for topic in message["Responses"]:
        for partition in topic["Partitions"]:
            data = (partition["Records"] or {}).get("hex")
            if data:
                at = len(data) - 4
                partition["Records"] = {
                    "hex": data[:at] + ("61" if data[at : at + 2] != "61" else "62") + data[at + 2 :]
                }
                return True
    return False


def test_a_swapped_member_id_is_a_difference(tmp_path: Path) -> None:
    """An id stands for one of ours from its first appearance on: another one in its place contradicts that."""
    lines = lines_of(SESSIONS[0])
    ids = [
        line["message"]["MemberId"]
        for line in lines
        if line["kind"] == "answer" and line["api"] == "JoinGroup" and line["message"]["ErrorCode"] == 0
    ]
    first, other = ids[0], next(each for each in ids if each != ids[0])
    last = max(n for n, line in enumerate(lines) if line.get("api") == "JoinGroup" and line["kind"] == "answer")
    was = lines[last]["message"]["MemberId"]
    lines[last]["message"]["MemberId"] = other if was == first else first

    assert unexplained(write_lines(tmp_path / "s.jsonl", lines))


def test_a_session_that_was_cut_off_is_replayed_up_to_the_cut(tmp_path: Path) -> None:
    """The recorder was killed: what is there is played, and it says where it ends."""
    data = SESSIONS[0].read_bytes()
    path = tmp_path / "s.jsonl"
    path.write_bytes(data[: len(data) * 2 // 3])

    status, output = output_of_command(path)

    assert status == 0
    assert "was cut off" in output
    assert "0 unexplained" in output


def test_what_is_not_served_is_named_and_counted(tmp_path: Path) -> None:
    """A request of an API that fakebroker does not have is not sent; what there is goes on."""
    status, output = output_of_command(next(path for path in SESSIONS if "confluent" in path.name))

    assert status == 0
    assert "does not support it: ConsumerGroupDescribe" in output


def test_explained_differences_come_with_their_reason() -> None:
    """They are shown when asked for, and counted by their reason."""
    result, mismatches = replayed(SESSIONS[0])

    shown = output_of_command(SESSIONS[0], "--verbose")[1]

    assert result.explained
    assert {each.reason for each in mismatches} == set(result.explained)
    assert [reason for reason in result.explained if reason not in shown] == []


@pytest.mark.parametrize("text", ["", "{}\n", "no json\n", '{"kind": "request"}\n'])
def test_a_file_that_is_no_session_is_refused(tmp_path: Path, text: str) -> None:
    """With status 2 and a sentence that names file and line."""
    path = tmp_path / "s.jsonl"
    path.write_text(text)

    status, output = output_of_command(path)

    assert status == 2
    assert f"{path}:1: " in output


def test_a_message_that_was_edited_into_nonsense_is_reported(tmp_path: Path) -> None:
    """A request that cannot be one is no bug of the replay: it says which line is wrong, and ends."""
    lines = lines_of(SESSIONS[0])
    number = max(n for n, line in enumerate(lines, 1) if line["kind"] == "request" and line["api"] == "JoinGroup")
    lines[number - 1]["message"]["SessionTimeoutMs"] = "soon"
    path = write_lines(tmp_path / "s.jsonl", lines)

    status, output = output_of_command(path)

    assert status == 2
    assert f"{path}:{number}: " in output


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of kafka-python
def test_against_a_running_broker_a_session_is_played_in_real_time(tmp_path: Path) -> None:
    """The same to any address, with the topics that it needs."""
    path = tmp_path / "s.jsonl"
    from kafka import KafkaProducer

    with _broker_with_records() as broker, recorder(broker.bootstrap, path) as bootstrap:
        producer = KafkaProducer(bootstrap_servers=bootstrap)
        producer.send("orders", b"one").get(30)
        producer.close()

    with FakeBroker() as other:
        status, output = output_of_command(path, "--against", other.bootstrap)

    assert status == 0, output
    assert "0 unexplained" in output


@pytest.mark.parametrize("protocol", SECURED)
def test_a_session_is_played_to_a_secured_kafka(tmp_path: Path, protocol: str) -> None:
    """Set-up and the recorded connections speak TLS and log in."""
    properties = command_config(tmp_path, protocol)
    path = write_lines(tmp_path / "s.jsonl", lines_of(SESSIONS[0])[:40])
    with secured_broker(profile="kafka") as broker:
        address = broker.bootstrap_of(protocol)
        status, output = output_of_command(path, "--against", address, "--command-config", properties)

    assert status == 0, output
    assert ", 0 unexplained" in output


def test_a_kafka_that_wants_a_login_is_reported(tmp_path: Path) -> None:
    """Before anything is played, with what to set."""
    with secured_broker(SASL_PLAINTEXT) as broker:
        status, output = output_of_command(SESSIONS[0], "--against", broker.bootstrap)

    assert (status, "set security.protocol=SASL_PLAINTEXT or SASL_SSL" in output) == (3, True), output


def test_what_an_earlier_replay_left_behind_is_reported(tmp_path: Path) -> None:
    """Topics and groups of the session that the Kafka has already are named, since differences may come of them."""
    path = write_lines(tmp_path / "s.jsonl", [line for line in lines_of(SESSIONS[0]) if line["kind"] != "request"])
    found = survey(SESSIONS[0])
    topic, group = next(iter(found.made)), next(iter(found.first_generations))
    with FakeBroker() as broker:
        _, before = output_of_command(path, "--against", broker.bootstrap)
        broker.create_topic(topic, 2)
        broker.group(group).commit({(topic, 0): 1})
        target = tcp_target(found, ClientConfig(broker.bootstrap))
        target.driver.close_all()

    assert "already" not in before
    assert [note.partition(" is there already")[0] for note in target.notes] == [
        f"the topic {topic}",
        f"the group {group}",
    ]


def test_what_groups_had_committed_is_committed_on_another_kafka(tmp_path: Path) -> None:
    """As it is in virtual time."""
    found = survey(SESSIONS[0])
    found.commits[("before", "seen", 0)] = CommitBefore(7, -1, "m")
    with FakeBroker() as broker:
        broker.create_topic("seen")
        tcp_target(found, ClientConfig(broker.bootstrap)).driver.close_all()

        assert broker.group("before").offsets == {("seen", 0): 7}


@pytest.mark.slow
def test_the_memory_of_a_replay_does_not_grow_with_the_session(tmp_path: Path) -> None:
    """Lines are read one by one; ten times as many requests of a client need no more."""

    def peak_bytes(times: int) -> int:
        path = write_lines(tmp_path / f"{times}.jsonl", _with_more_requests(times))
        tracemalloc.start()
        try:
            result, _ = replayed(path)
            assert result.is_good
            assert result.answers > times
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak_bytes(10)  # what is imported and kept at the first time
    few, many = peak_bytes(200), peak_bytes(2000)

    assert many < few + (1 << 20)


def _with_more_requests(times: int) -> list[Line]:
    """A session in which a client asks for metadata again and again."""
    lines = lines_of(SESSIONS[0])
    request = next(line for line in lines if line["kind"] == "request" and line["api"] == "Metadata")
    at = lines.index(request)
    answer = next(
        line
        for line in lines[at:]
        if line["kind"] == "answer" and line["correlation_id"] == request["correlation_id"]
        if line["connection"] == request["connection"]
    )
    made = []
    for number in range(times):
        same = {"at_ms": request["at_ms"], "correlation_id": 100_000 + number}
        made += [{**request, **same}, {**answer, **same}]
    return [*lines[:at], *made, *lines[at:]]
