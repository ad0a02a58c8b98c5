"""Strings as long as can be, in every place of every request: no bug of ours, and Kafka's answer."""

from collections.abc import Iterator
from typing import Any

import pytest

from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.schema.types import STRING, ArrayOf
from fakebroker.protocol.wire.messages.create_topics import CreatableTopic
from fakebroker.protocol.wire.messages.delete_topics import DeleteTopicState
from fakebroker.protocol.wire.messages.describe_configs import DescribeConfigsResource
from fakebroker.protocol.wire.registry import APIS, api
from tests.support.engine import SimEngine
from tests.support.frames import JOIN, request
from tests.support.small_steps import make_steps_smaller
from tests.support.turns_of_request import turns

LONG = ("x" * 32767, "\x01" * 32767, "\u00e4" * 16383, "'\"" * 16000)
NUMBERS = {
    "acks": -1,
    "count": 5,
    "generation_id": -1,
    "generation_id_or_member_epoch": -1,
    "num_partitions": -1,
    "rebalance_timeout_ms": 10_000,
    "replica_id": -1,
    "replication_factor": -1,
    "session_epoch": -1,
    "session_timeout_ms": 10_000,
}
TEXTS = {"name": "t", "topic": "t", "group_id": "g", "protocol_type": "consumer", "config_name": "retention.ms"}
Path = tuple[str, ...]


def string_paths(declaration: Any, version: int, path: Path = ()) -> Iterator[Path]:
    """The way to each string field of a message."""
    for spec in declaration.fields:
        if spec.versions.includes(version):
            here, kind = (*path, spec.name), spec.type
            element = kind.element if isinstance(kind, ArrayOf) else kind
            if element is STRING:
                yield here
            elif hasattr(element, "fields"):
                yield from string_paths(element, version, here)


def filled(declaration: Any, version: int, target: Path, text: str, fixed: dict[str, Any], path: Path = ()) -> Any:
    """A message with one entry in each list, and `text` at `target`."""
    values: dict[str, Any] = {}
    for spec in declaration.fields:
        here, kind = (*path, spec.name), spec.type
        element = kind.element if isinstance(kind, ArrayOf) else kind
        value: Any = fixed.get(spec.name, NUMBERS.get(spec.name, TEXTS.get(spec.name, spec.fresh_default())))
        if here == target:
            value = text
        elif hasattr(element, "fields"):
            value = filled(element, version, target, text, fixed, here)
        elif isinstance(kind, ArrayOf) and element is not STRING:
            continue
        elif value is None and isinstance(kind, ArrayOf):
            value = "t"
        if spec.versions.includes(version):
            values[spec.name] = [value] if isinstance(kind, ArrayOf) and not isinstance(value, list) else value
    if declaration.is_row:
        return tuple(values.get(spec.name, spec.fresh_default()) for spec in declaration.fields)
    return declaration(**values)


@pytest.mark.rules("AV-10")
@pytest.mark.parametrize("name", [each.name for each in APIS.values()])
def test_no_string_is_too_long_for_us(name: str) -> None:
    """Whatever is repeated in the answer or in its error text: an answer or the end, never an internal error."""
    lab = SimEngine()
    lab.cluster.topics.create("t", 1, 1)
    served = lab.engine.listeners[0].versions[api(name).key]
    for version in range(served[0], served[1] + 1):
        kinds = [{"resource_type": kind, "config_operation": kind % 3} for kind in (2, 4, 8, 16, 32)]
        for fixed in kinds if "Configs" in name else kinds[:1]:
            for target in string_paths(api(name).request, version):
                for text in LONG:
                    message = filled(api(name).request, version, target, text, fixed)
                    client = lab.client()
                    fields = {spec.name: getattr(message, spec.name) for spec in message.fields}
                    client.socket.send(request(name, version, **fields))
                    assert lab.engine.errors == [], (name, version, target)
                    client.socket.close()


X = "x" * 32767


@pytest.mark.rules("AV-10")
def test_what_kafka_answers_to_long_names() -> None:
    """Asked of Kafka 4.3.1: -1 where its error text repeats the name and cannot be written, else the text's code."""
    client = SimEngine().client()
    (made,) = client.ask("CreateTopics", 5, topics=[CreatableTopic(name=X, num_partitions=1)]).topics
    (gone,) = client.ask("DeleteTopics", 6, topics=[DeleteTopicState(name=X)]).responses
    kinds = (2, 4, 8, 16, 32)
    asked = [DescribeConfigsResource(resource_type=kind, resource_name=X) for kind in kinds]
    described = [client.ask("DescribeConfigs", 1, resources=[each]).results[0].error_code for each in asked]

    assert made.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert gone.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert described == [
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.UNKNOWN_SERVER_ERROR,
        0,
        0,
    ]


@pytest.mark.rules("JG-14", "AV-10")
def test_a_member_id_that_cannot_be_written() -> None:
    """A member id begins with the client's id or instance id: 32 KB of it are -1, as Kafka 4.3.1 answers."""
    lab = SimEngine()
    client = lab.client()
    client.socket.send(request("JoinGroup", 5, **{**JOIN, "group_instance_id": X}))
    assert client.answer("JoinGroup", 5).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    client.socket.send(request("JoinGroup", 3, client_id=X, **{**JOIN, "group_id": "other"}))
    assert client.answer("JoinGroup", 3).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert lab.engine.errors == []


def test_an_answer_that_is_too_long_for_a_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader whose members' metadata do not fit into a frame gets -1, as from Kafka, and nothing is kept."""
    lab = SimEngine()
    monkeypatch.setattr("fakebroker.broker.engine.connection.LONGEST_FRAME_BYTES", 700)
    client = lab.client()
    assert client.join("g").error_code == 0
    big = {**JOIN, "group_id": "h", "protocols": [type(JOIN["protocols"][0])(name="range", metadata=b"m" * 600)]}
    assert client.ask("JoinGroup", 3, **big).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert lab.engine.errors == []


@pytest.mark.rules("AV-10")
@pytest.mark.parametrize("name", ["DescribeGroups", "ConsumerGroupDescribe", "ShareGroupDescribe"])
def test_no_turn_looks_for_a_long_string_in_all_entries(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer has a text that is too long behind many others; which one is found out in steps."""
    make_steps_smaller(monkeypatch, 100)

    def dearest_turn(count: int) -> int:
        lab = SimEngine()
        lab.engine.long_list_bytes = 1_000
        field, names = "groups" if name == "DescribeGroups" else "group_ids", [*map(str, range(count)), LONG[0]]
        fields: dict[str, Any] = {field: names}
        version, client = lab.engine.listeners[0].versions[api(name).key][1], lab.client()
        found = max(turns(lab, client.socket.connection, request(name, version, **fields)))
        lab.network.flush()
        answered = {group.error_code for group in client.answer(name, version).groups}
        assert answered == {ErrorCode.UNKNOWN_SERVER_ERROR}
        return found

    dearest_turn(10)
    few, many = dearest_turn(500), dearest_turn(2_000)
    assert (many - few) / 1_500 < 3  # calls of an entry: to read it takes two
