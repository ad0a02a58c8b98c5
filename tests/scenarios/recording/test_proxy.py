"""The recording proxy: what clients and a Kafka see of it, and what is in the session."""

import asyncio
import importlib
import struct
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from fakebroker import FakeBroker
from fakebroker.client.cluster.client_properties import security_in_file
from fakebroker.client.cluster.errors import NotLetIn
from fakebroker.client.connection import ClientConnection
from fakebroker.client.login import Credentials
from fakebroker.client.scripted.scripted_client import ScriptedClients
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.listeners import SASL_PLAINTEXT, SSL
from fakebroker.protocol.records.batch import build_batch, plain_records
from fakebroker.protocol.schema import Message
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.frame import decode_response, encode_request
from fakebroker.protocol.wire.framing import with_length
from fakebroker.protocol.wire.messages import fetch, produce, share_fetch
from fakebroker.protocol.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from fakebroker.protocol.wire.messages.describe_cluster import DescribeClusterRequest
from fakebroker.protocol.wire.messages.fetch import FetchRequest, FetchResponse
from fakebroker.protocol.wire.messages.find_coordinator import FindCoordinatorRequest
from fakebroker.protocol.wire.messages.heartbeat import HeartbeatRequest
from fakebroker.protocol.wire.messages.list_groups import ListGroupsResponse
from fakebroker.protocol.wire.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from fakebroker.protocol.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
)
from fakebroker.protocol.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from fakebroker.scenarios.recording.proxy import PAYLOADS, SECRETS
from fakebroker.testing.exchanges.messages import answer_of, frame_of, request_of
from fakebroker.types import ReleaseName
from tests.support.librdkafka import close
from tests.support.recorder import Recording, asked, connected, played, receive, recording
from tests.support.secured import PASSWORD, SECURED, command_config, secured_broker

HEARTBEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
UNKNOWN_API = struct.pack(">hhih", 999, 3, 77, 1) + b"c\x00some bytes"


def ports(broker: FakeBroker) -> set[int]:
    return {int(address.rpartition(":")[2]) for address in broker.bootstrap.split(",")}


def first(broker: FakeBroker) -> str:
    return broker.bootstrap.split(",")[0]


def head_of(frame: bytes) -> tuple[int, int, int]:
    key, version, correlation_id = struct.unpack_from(">hhi", frame)
    return key, version, correlation_id


def answering(answers: Mapping[int, Message | bytes | None]) -> Callable[[bytes], bytes | None]:
    """An upstream that answers some APIs, and closes the connection at all others."""

    def answer(frame: bytes) -> bytes | None:
        key, version, correlation_id = head_of(frame)
        found = answers.get(key, b"")
        if isinstance(found, bytes | None):
            return found and struct.pack(">i", correlation_id) + found
        tags = b"\0" if key != 18 and type(found).flexible.includes(version) else b""
        return struct.pack(">i", correlation_id) + tags + found.encode(min(version, type(found).versions.last))

    return answer


def exchanged(run: Recording, request: Message, version: int) -> Any:
    """The answer that a client of the proxy gets."""
    with connected(run.address) as sock:
        frame = asked(sock, encode_request(request, version, 5, "c"))
        return decode_response(request.api_key, version, frame)[1]


def scripted(address: tuple[str, int]) -> tuple[TcpDriver, ClientConnection]:
    driver, client = TcpDriver(*address), ClientConnection("c")
    driver.open(client)
    return driver, client


@pytest.mark.clients
@pytest.mark.filterwarnings("ignore")  # what the libraries warn of at import is not ours to mend
@pytest.mark.parametrize("nodes", [1, 3])
@pytest.mark.parametrize("library", ["confluent", "kafka_python", "aiokafka"])
def test_clients_stay_with_the_proxy(tmp_path: Path, nodes: int, library: str) -> None:
    """A client that produces, consumes and commits through the proxy never connects to a broker itself."""
    with FakeBroker(nodes=nodes) as broker:
        broker.create_topic("orders", partitions=3)
        with recording(first(broker), tmp_path / "s") as run:
            LIBRARIES[library](run.bootstrap)
            recorded = {
                (line["node"], line["api"]) for line in run.lines("request", "answer") if line["node"] is not None
            }
            named = {one["Port"] for line in run.lines("answer", api="Metadata") for one in line["message"]["Brokers"]}
        came = Counter((one.client_id, one.api) for one in broker.journal.requests())

    assert {node for node, api in recorded if api == "Produce"} == set(range(1, nodes + 1))
    assert {node for node, api in recorded if api == "Fetch"} == set(range(1, nodes + 1))
    assert named == ports(broker)  # the session has what the brokers said
    through = Counter((line["client"], line["api"]) for line in run.lines("request"))
    assert {who for who, _ in (came - through)} == {
        "fakebroker-record"
    }  # all that clients asked came through the proxy
    assert run.lines("end")[0]["summary"]["not_understood"] == {}


def use_confluent(bootstrap: str) -> None:
    kafka = importlib.import_module("confluent_kafka")
    producer = kafka.Producer({"bootstrap.servers": bootstrap})
    for partition in range(3):
        producer.produce("orders", f"v{partition}", partition=partition)
    assert producer.flush(20) == 0
    consumer = kafka.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "g", "auto.offset.reset": "earliest", "enable.auto.commit": False}
    )
    consumer.subscribe(["orders"])
    values: set[bytes] = set()
    while len(values) < 3:
        message = consumer.poll(20)
        assert message is not None
        assert message.error() is None
        values.add(message.value())
    consumer.commit(asynchronous=False)
    close(consumer)


def use_kafka_python(bootstrap: str) -> None:
    kafka = importlib.import_module("kafka")
    producer = kafka.KafkaProducer(bootstrap_servers=bootstrap)
    for partition in range(3):
        producer.send("orders", b"v%d" % partition, partition=partition).get(20)
    producer.close()
    consumer = kafka.KafkaConsumer(
        "orders", bootstrap_servers=bootstrap, group_id="g", auto_offset_reset="earliest", enable_auto_commit=False
    )
    assert len({next(consumer).value for _ in range(3)}) == 3
    consumer.commit()
    consumer.close()


def use_aiokafka(bootstrap: str) -> None:
    kafka = importlib.import_module("aiokafka")

    async def live() -> None:
        producer = kafka.AIOKafkaProducer(bootstrap_servers=bootstrap)
        await producer.start()
        for partition in range(3):
            await producer.send_and_wait("orders", b"v%d" % partition, partition=partition)
        await producer.stop()
        consumer = kafka.AIOKafkaConsumer(
            "orders", bootstrap_servers=bootstrap, group_id="g", auto_offset_reset="earliest", enable_auto_commit=False
        )
        await consumer.start()
        assert len({(await consumer.getone()).value for _ in range(3)}) == 3
        await consumer.commit()
        await consumer.stop()

    asyncio.run(asyncio.wait_for(live(), 60))


LIBRARIES = {"confluent": use_confluent, "kafka_python": use_kafka_python, "aiokafka": use_aiokafka}


def test_the_state_of_the_upstream_is_asked_for_first(tmp_path: Path) -> None:
    """Versions, topics, settings, offsets and committed offsets stand in the session before the first client."""
    with FakeBroker(nodes=2, config={"offsets.retention.minutes": 99}) as broker:
        topic = broker.create_topic("orders", partitions=2, config={"retention.ms": "-1"})
        topic.produce("v", "w", partition=1)
        broker.group("billing").commit({("orders", 1): 1})
        with recording(first(broker), tmp_path / "s") as run:
            state = run.lines("state")

    by_subject: dict[str, list[Any]] = {}
    for line in state:
        assert "problem" not in line
        by_subject.setdefault(line["about"], []).append(line)
    settings = {
        (result["ResourceName"], one["Name"]): one["Value"]
        for line in by_subject["configs"]
        for result in line["message"]["Results"]
        for one in result["Configs"]
    }
    offsets = {(row["topic"], row["partition"]): row for line in by_subject["offsets"] for row in line["offsets"]}
    assert by_subject["api_versions"][0]["release"] == "4.3.1"
    assert "orders" in {topic["Name"] for topic in by_subject["metadata"][0]["message"]["Topics"]}
    assert settings["orders", "retention.ms"] == "-1"
    assert settings["1", "offsets.retention.minutes"] == "99"
    assert offsets["orders", 1]["log_end_offset"] == 2
    assert offsets["orders", 0]["log_end_offset"] == 0
    (committed,) = by_subject["committed_offsets"]
    assert committed["group"] == "billing"
    assert committed["message"]["Topics"][0]["Partitions"][0]["CommittedOffset"] == 1


def test_addresses_become_those_of_the_proxy(tmp_path: Path) -> None:
    """Metadata, FindCoordinator and DescribeCluster name ports of the proxy, one for each broker, in every version."""
    with FakeBroker(nodes=3) as broker, recording(first(broker), tmp_path / "s") as run:
        seen: set[tuple[int, int]] = set()
        for version in range(14):
            answer = exchanged(run, MetadataRequest(topics=[]), version)
            seen |= {(one.node_id, one.port) for one in answer.brokers}
        for version in range(3):
            answer = exchanged(run, DescribeClusterRequest(), version)
            seen |= {(one.broker_id, one.port) for one in answer.brokers}
        for version in range(7):
            request = (
                FindCoordinatorRequest(coordinator_keys=["g"]) if version >= 4 else FindCoordinatorRequest(key="g")
            )
            answer = exchanged(run, request, version)
            for one in answer.coordinators if version >= 4 else [answer]:
                seen.add((one.node_id, one.port))

    assert len(seen) == 3
    assert {node for node, _ in seen} == {1, 2, 3}
    assert run.address.port in {port for _, port in seen}
    assert not {port for _, port in seen} & ports(broker)
    assert all(line.get("is_rewritten") for line in run.lines("answer"))


def test_the_upstream_is_one_broker_whatever_it_is_called(tmp_path: Path) -> None:
    """It has one port, though Metadata calls it otherwise than the one who records, and cannot be reached by that."""
    renamed = [MetadataResponseBroker(node_id=4, host="kafka.invalid", port=9092)]
    answers: dict[int, Any] = {
        ApiKey.API_VERSIONS: ApiVersionsResponse(
            api_keys=[ApiVersion(api_key=ApiKey.METADATA, min_version=0, max_version=9)]
        ),
        ApiKey.METADATA: MetadataResponse(brokers=renamed),
    }
    with played(answering(answers)) as upstream, recording(upstream.address, tmp_path / "s") as run:
        (only,) = exchanged(run, MetadataRequest(topics=[]), 9).brokers
    assert (only.host, only.port) == run.address
    assert run.lines("connect")[0]["node"] == 4

    with FakeBroker(nodes=3) as broker:
        port = first(broker).rpartition(":")[2]
        with recording(f"localhost:{port}", tmp_path / "t") as run:
            named = {one.node_id: one.port for one in exchanged(run, MetadataRequest(topics=[]), 9).brokers}
    assert named[1] == run.address.port
    assert len(set(named.values())) == 3
    assert run.lines("connect")[0]["node"] == 1


def test_a_broker_that_cannot_be_reached_is_reported_and_the_others_are_asked(tmp_path: Path) -> None:
    """The problem stands beside the broker; there is a recording all the same, with the state of the rest."""
    with played(lambda _: b"") as gone:
        pass
    host, _, port = gone.address.rpartition(":")
    answers: dict[int, Any] = {
        ApiKey.API_VERSIONS: ApiVersionsResponse(
            api_keys=[
                ApiVersion(api_key=ApiKey.METADATA, max_version=9),
                ApiVersion(api_key=ApiKey.LIST_GROUPS, max_version=3),
            ]
        ),
        ApiKey.LIST_GROUPS: ListGroupsResponse(),
    }
    with played(answering(answers)) as upstream:
        own = upstream.address.rpartition(":")[2]
        named = [(1, int(port)), (2, int(own))]
        answers[3] = MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=node, host=host, port=at) for node, at in named]
        )
        with recording(upstream.address, tmp_path / "s") as run:
            reported = {(line["node"], line.get("problem")) for line in run.lines("state", about="groups")}

    assert reported == {(1, f"no broker answers at {gone.address}: Connection refused"), (2, None)}


@pytest.mark.parametrize("protocol", SECURED)
def test_a_secured_kafka_is_recorded(tmp_path: Path, protocol: str) -> None:
    """The state is asked for over TLS and with a login, which is not in the file; clients log in through the proxy."""
    security = security_in_file(command_config(tmp_path, protocol))
    with secured_broker() as broker:
        broker.create_topic("orders", partitions=2)
        broker.topic("orders").produce(b"a")
        broker.group("billing").commit({("orders", 0): 1})
        with recording(broker.bootstrap_of(protocol), tmp_path / "s", security) as run:
            clients = ScriptedClients(TcpDriver(*run.address))
            client = clients.client("shop", credentials=security.credentials)
            client.produce("orders", 1, [b"x"])
            clients.close()

    state = {line["about"] for line in run.lines("state")}
    assert state == {"api_versions", "metadata", "configs", "offsets", "groups", "committed_offsets"}
    assert [line["problem"] for line in run.lines("state") if "problem" in line] == []
    assert run.lines("answer", api="Produce")
    assert PASSWORD not in (tmp_path / "s").read_text()


def test_a_kafka_that_wants_a_login_is_recorded_without_its_state(tmp_path: Path) -> None:
    """Clients log in through the proxy; the problem says what the recorder lacks."""
    with secured_broker() as broker, recording(broker.bootstrap_of(SASL_PLAINTEXT), tmp_path / "s") as run:
        clients = ScriptedClients(TcpDriver(*run.address))
        assert clients.client("shop", credentials=Credentials("alice", PASSWORD)).metadata().brokers
        clients.close()

    (problem,) = [line["problem"] for line in run.lines("state")]
    assert "set security.protocol=SASL_PLAINTEXT or SASL_SSL" in problem


def test_a_kafka_with_tls_cannot_be_recorded_without(tmp_path: Path) -> None:
    """No client would come through; the error says what to set."""
    with (
        secured_broker() as broker,
        pytest.raises(NotLetIn, match="speaks TLS: security"),
        recording(broker.bootstrap_of(SSL), tmp_path / "s"),
    ):
        pass


@pytest.mark.parametrize("release", ["1.0", "2.0", "3.9", "4.3"])
def test_the_state_of_older_releases_is_asked_for_too(tmp_path: Path, release: ReleaseName) -> None:
    """Questions are of versions that the upstream has, and the guess at its release is right."""
    with FakeBroker(as_release=release) as broker:
        broker.create_topic("orders")
        broker.group("billing").commit({("orders", 0): 0})
        with recording(broker.bootstrap, tmp_path / "s") as run:
            state = run.lines("state")

    assert [line for line in state if "problem" in line] == []
    assert state[0]["release"].startswith(release + ".")
    assert {line["about"] for line in state} == {
        "api_versions",
        "metadata",
        "configs",
        "offsets",
        "groups",
        "committed_offsets",
    }


NEW_LEADERS: list[tuple[Message, int, Message]] = [
    (
        ProduceRequest(acks=1, timeout_ms=1, topic_data=[]),
        10,
        ProduceResponse(node_endpoints=[produce.NodeEndpoint(node_id=8, host="far.example", port=9999)]),
    ),
    (
        FetchRequest(max_wait_ms=1, min_bytes=1, topics=[]),
        16,
        FetchResponse(node_endpoints=[fetch.NodeEndpoint(node_id=8, host="far.example", port=9999)]),
    ),
]


@pytest.mark.parametrize(("request_", "version", "answer"), NEW_LEADERS, ids=["Produce", "Fetch"])
def test_new_leaders_in_answers_become_ports_of_the_proxy(
    tmp_path: Path, request_: Message, version: int, answer: Message
) -> None:
    """The tagged addresses of new leaders are rewritten, too."""
    upstream_answers = answering({request_.api_key: answer})
    with played(upstream_answers) as upstream, recording(upstream.address, tmp_path / "s") as run:
        (endpoint,) = exchanged(run, request_, version).node_endpoints

    assert (endpoint.node_id, endpoint.host) == (8, "127.0.0.1")
    assert endpoint.port != 9999
    (line,) = run.lines("answer")
    assert line["message"]["NodeEndpoints"][0]["Host"] == "far.example"
    assert line["is_rewritten"] is True


def test_new_leaders_of_share_fetches_are_rewritten(tmp_path: Path) -> None:
    """The answers to ShareFetch may lead clients to new leaders."""
    moved = share_fetch.NodeEndpoint(node_id=8, host="far.example", port=9999)
    answer = share_fetch.ShareFetchResponse(responses=[], node_endpoints=[moved])
    request = struct.pack(">hhih", ApiKey.SHARE_FETCH, 1, 5, 1) + b"c\0"
    with (
        played(answering({78: answer})) as upstream,
        recording(upstream.address, tmp_path / "s") as run,
        connected(run.address) as sock,
    ):
        frame = asked(sock, request)

    (endpoint,) = share_fetch.ShareFetchResponse.decode(frame, 1, 5)[0].node_endpoints
    assert (endpoint.node_id, endpoint.host) == (8, "127.0.0.1")
    assert endpoint.port != 9999
    assert run.lines("answer")[0]["api"] == "ShareFetch"


def test_advertised_host_and_ports_are_those_that_were_given(tmp_path: Path) -> None:
    """For containers: the name that answers have is not the address that the client connected to."""
    brokers = [MetadataResponseBroker(node_id=n, host="kafka", port=9000 + n) for n in (1, 2)]
    answer = MetadataResponse(brokers=brokers)
    with (
        played(answering({3: answer})) as upstream,
        recording(upstream.address, tmp_path / "s", advertise="proxy.example") as run,
    ):
        named = {(one.host, one.node_id) for one in exchanged(run, MetadataRequest(topics=[]), 9).brokers}

    assert named == {("proxy.example", 1), ("proxy.example", 2)}


def test_what_is_not_understood_passes_byte_for_byte(tmp_path: Path) -> None:
    """An unknown API goes through unchanged in both directions, and is in the session as hexadecimal."""
    with played(answering({999: b"\x01\x02 whatever"})) as upstream, recording(upstream.address, tmp_path / "s") as run:
        with connected(run.address) as sock:
            answer = asked(sock, UNKNOWN_API)
        run.wait_for("close")

    assert upstream.requests[-1] == UNKNOWN_API
    assert answer == struct.pack(">i", 77) + b"\x01\x02 whatever"
    request, answered = run.lines("request", "answer")
    assert (request["api"], request["api_key"], request["version"], request["client"]) == (None, 999, 3, "c")
    assert frame_of(request) == UNKNOWN_API
    assert frame_of(answered) == answer
    assert run.lines("end")[0]["summary"]["not_understood"] == {"999 v3": 1}


@pytest.mark.parametrize("version", [3, 30])
def test_answers_without_addresses_pass_byte_for_byte(tmp_path: Path, version: int) -> None:
    """Whatever stands in an answer, decodable, too long or of an unknown version: the client gets these bytes."""
    body = b"\0\0\0\0\0\x1b and more"
    with (
        played(answering({12: body})) as upstream,
        recording(upstream.address, tmp_path / "s") as run,
        connected(run.address) as sock,
    ):
        request = struct.pack(">hhih", ApiKey.HEARTBEAT, version, 5, -1) + HEARTBEAT.encode(3)
        assert asked(sock, request) == struct.pack(">i", 5) + body

    assert upstream.requests[-1] == request
    assert len(run.lines("answer")) == 1


def test_an_answer_with_addresses_that_cannot_be_read_is_passed_on_and_said(tmp_path: Path) -> None:
    """A Metadata of a version that nobody promised: the client gets it as it is, and the session has the problem."""
    request = struct.pack(">hhih", ApiKey.METADATA, 99, 5, -1) + b"\0"
    with (
        played(answering({3: b"\0 what"})) as upstream,
        recording(upstream.address, tmp_path / "s") as run,
        connected(run.address) as sock,
    ):
        assert asked(sock, request) == struct.pack(">i", 5) + b"\0 what"

    (line,) = run.lines("answer")
    assert "addresses that it has" in line["problem"]
    assert frame_of(line) == struct.pack(">i", 5) + b"\0 what"


def test_api_versions_promises_no_addresses_that_cannot_be_rewritten(tmp_path: Path) -> None:
    """The newest Metadata that clients see is the newest whose addresses can be rewritten; the rest stays."""
    reported = [(0, 3, 99), (3, 0, 99), (10, 50, 99), (12, 0, 99), (999, 0, 7)]
    answer = ApiVersionsResponse(
        api_keys=[ApiVersion(api_key=key, min_version=low, max_version=high) for key, low, high in reported]
    )
    with played(answering({18: answer})) as upstream, recording(upstream.address, tmp_path / "s") as run:
        got = exchanged(run, ApiVersionsRequest(), 3)

    assert [(one.api_key, one.min_version, one.max_version) for one in got.api_keys] == [
        (0, 3, 13),
        (3, 0, 13),
        (12, 0, 99),
        (999, 0, 7),
    ]
    (line,) = run.lines("answer")
    assert line["is_rewritten"] is True
    assert len(line["message"]["ApiKeys"]) == 5


def test_api_versions_of_an_unknown_version_is_refused_as_brokers_refuse_it(tmp_path: Path) -> None:
    """A client of tomorrow gets the supported ApiVersions in v0, whatever the upstream knows, and asks again."""
    answer = ApiVersionsResponse(api_keys=[ApiVersion(api_key=ApiKey.API_VERSIONS, min_version=0, max_version=9)])
    with played(answering({18: answer})) as upstream, recording(upstream.address, tmp_path / "s") as run:
        with connected(run.address) as sock:
            frame = asked(sock, struct.pack(">hhih", ApiKey.API_VERSIONS, 9, 5, 1) + b"c\0\x02a\x02b\0new")
        refusal: Any = ApiVersionsResponse.decode(frame, 0, 4)[0]

    assert refusal.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [(one.api_key, one.max_version) for one in refusal.api_keys] == [(18, 4)]
    assert [line["version"] for line in run.lines("request", "answer")] == [9, 0]


def test_requests_without_answers_do_not_shift_the_others(tmp_path: Path) -> None:
    """Produce with acks 0 has no answer, in every version; what is asked behind it gets its own."""
    with FakeBroker() as broker:
        broker.create_topic("orders")
        with recording(broker.bootstrap, tmp_path / "s") as run, connected(run.address) as sock:
            batch = build_batch(plain_records([(b"k", b"v")], 1_700_000_000_000))
            data = [TopicProduceData(name="orders", partition_data=[PartitionProduceData(index=0, records=batch)])]
            silent = ProduceRequest(acks=0, timeout_ms=1, topic_data=data)
            for version in range(3, 13):
                heartbeat = encode_request(HEARTBEAT, 3, 100 + version, "c")
                sock.sendall(with_length(encode_request(silent, version, version, "c")) + with_length(heartbeat))
                assert struct.unpack(">i", receive(sock)[:4]) == (100 + version,)

    assert [line["api"] for line in run.lines("answer")] == ["Heartbeat"] * 10
    assert len(run.lines("request")) == 20
    assert run.lines("end")[0]["summary"] == {"connections": 1, "requests": 20, "answers": 10, "not_understood": {}}


def test_pipelined_requests_are_answered_in_order(tmp_path: Path) -> None:
    """Many requests at once on one connection: every answer is noted beside its request."""
    with FakeBroker() as broker, recording(broker.bootstrap, tmp_path / "s") as run:
        driver, client = scripted(run.address)
        waiting = [
            client.send(HEARTBEAT if number % 2 else MetadataRequest(topics=[]), 4 if number % 2 else 9)
            for number in range(200)
        ]
        driver.flush(client)
        assert driver.pass_time(10_000, lambda: waiting[-1].is_done)
        driver.close_all()

    assert all(pending.is_done for pending in waiting)
    assert [line["correlation_id"] for line in run.lines("answer")] == list(range(1, 201))
    for line in run.lines("request"):
        assert request_of(line) is not None
    for line in run.lines("answer"):
        assert answer_of(line) is not None


def test_bytes_may_come_one_by_one(tmp_path: Path) -> None:
    """How a request is cut into packets makes no difference."""
    with FakeBroker() as broker, recording(broker.bootstrap, tmp_path / "s") as run, connected(run.address) as sock:
        for byte in with_length(encode_request(HEARTBEAT, 4, 7, "c")):
            sock.sendall(bytes([byte]))
        answer: Any = decode_response(ApiKey.HEARTBEAT, 4, receive(sock))[1]

    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert len(run.lines("request", "answer")) == 2


def test_a_frame_that_was_cut_off_is_none(tmp_path: Path) -> None:
    """A client that closes in the middle of a request has not asked."""
    with FakeBroker() as broker, recording(broker.bootstrap, tmp_path / "s") as run:
        with connected(run.address) as sock:
            sock.sendall(with_length(encode_request(HEARTBEAT, 4, 7, "c"))[:-1])
        (closed,) = run.wait_for("close")

    assert closed["reason"] == "closed by the client"
    assert run.lines("request") == []


def test_sasl_passes_and_is_left_out_of_the_session(tmp_path: Path) -> None:
    """Bare tokens after a SaslHandshake v0, and SaslAuthenticate, go through; their bytes are in no file."""
    token, reply = b"n,,n=user,r=secret", b"r=secret-server"

    def answer(frame: bytes) -> bytes | None:
        if frame == token:
            return reply
        answers: dict[int, Message | bytes | None] = {
            ApiKey.SASL_HANDSHAKE: bytes(6),
            ApiKey.SASL_AUTHENTICATE: b"secret-server",
            ApiKey.HEARTBEAT: bytes(6),
        }
        return answering(answers)(frame)

    with played(answer) as upstream, recording(upstream.address, tmp_path / "s") as run, connected(run.address) as sock:
        asked(sock, struct.pack(">hhih", ApiKey.SASL_HANDSHAKE, 0, 1, -1) + b"\0\x0bSCRAM-SHA-256")
        assert asked(sock, token) == reply
        assert asked(sock, token) == reply
        asked(sock, struct.pack(">hhih", ApiKey.SASL_AUTHENTICATE, 0, 2, -1) + b"\0\0\0\x06secret")
        asked(sock, encode_request(HEARTBEAT, 3, 3, None))

    text = (tmp_path / "s").read_text()
    assert "secret" not in text.replace('"redacted":["secrets"]', "")
    assert b"secret".hex() not in text
    apis = [(line["api"], line.get("is_redacted", False)) for line in run.lines("request")]
    assert apis == [
        ("SaslHandshake", False),
        (None, True),
        (None, True),
        ("SaslAuthenticate", True),
        ("Heartbeat", False),
    ]


def test_an_upstream_that_dies_closes_the_client_and_the_proxy_lives(tmp_path: Path) -> None:
    """The session says why each connection ended: closed by the upstream, refused by it."""
    with played(answering({12: b"\0\0\0\0\0\0"})) as upstream, recording(upstream.address, tmp_path / "s") as run:
        with connected(run.address) as sock:
            asked(sock, encode_request(HEARTBEAT, 3, 1, "c"))
            upstream.close()
            assert sock.recv(1) == b""
        with connected(run.address) as sock:
            assert sock.recv(1) == b""
        closed = run.wait_for("close", count=2)

    assert [(line["connection"], line["by"]) for line in closed] == [(1, "upstream"), (2, "upstream")]
    assert closed[0]["reason"] == "closed by the upstream"
    assert closed[1]["reason"] == f"{upstream.address} cannot be reached: Connection refused"
    assert run.lines("end")[0]["reason"] == "the test ends"


def test_answers_that_come_after_the_client_has_closed_are_recorded(tmp_path: Path) -> None:
    """What the upstream did belongs to the session, also if nobody waited for it."""
    with FakeBroker() as broker, recording(broker.bootstrap, tmp_path / "s") as run:
        with connected(run.address) as sock:
            sock.sendall(with_length(encode_request(HEARTBEAT, 3, 1, "c")))
            sock.shutdown(1)
            run.wait_for("answer")
        (closed,) = run.wait_for("close")

    assert (closed["by"], closed["reason"]) == ("client", "closed by the client")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "looks like HTTP"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "looks like a TLS handshake"),
        (with_length(b"\0\x03"), "a request header in a frame of 2 bytes"),
        (with_length(struct.pack(">hhih", ApiKey.METADATA, 1, 1, 500)), "a request header in a frame of 10 bytes"),
    ],
)
def test_what_is_not_kafka_is_closed_with_a_reason(
    tmp_path: Path, data: bytes, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A browser, a TLS client, garbage: the connection ends, the session says why, the log once; others are served."""
    with FakeBroker() as broker, recording(broker.bootstrap, tmp_path / "s") as run:
        with connected(run.address) as sock:
            sock.sendall(data)
            run.wait_for("close")
        with connected(run.address) as sock:
            sock.sendall(data)
            assert sock.recv(1) == b""
        assert exchanged(run, HEARTBEAT, 3).error_code != 0

    assert reason in run.lines("close")[0]["reason"]
    assert sum(reason in message for message in caplog.messages) == 1


@pytest.mark.parametrize("answer", [b"\0", b"\0\0\0\x63\0\0"])
def test_an_upstream_that_answers_nonsense_ends_that_connection(tmp_path: Path, answer: bytes) -> None:
    """An answer without a header or to no request is no answer."""
    with played(lambda _: answer) as upstream, recording(upstream.address, tmp_path / "s") as run:
        with connected(run.address) as sock:
            assert asked(sock, encode_request(HEARTBEAT, 3, 1, "c")) == b""
        assert run.wait_for("close")[0]["by"] == "proxy"


def test_payloads_become_letters_of_the_same_length(tmp_path: Path) -> None:
    """Keys, values, headers and user metadata are in no file; sizes and equality of keys are, and clients see all."""
    kafka = importlib.import_module("confluent_kafka")
    with FakeBroker() as broker:
        broker.create_topic("orders")
        redacted = frozenset({SECRETS, PAYLOADS})
        with recording(broker.bootstrap, tmp_path / "s", redacted=redacted) as run:
            producer = kafka.Producer({"bootstrap.servers": run.bootstrap, "compression.type": "zstd"})
            for _ in range(2):
                producer.produce("orders", b"classified", b"sensitive", headers={"private": b"hidden"})
            producer.flush(20)
            commit = OffsetCommitRequest(
                group_id="g",
                generation_id_or_member_epoch=-1,
                topics=[OffsetCommitRequestTopic(name="orders", partitions=[(0, 1, -1, -1, "confidential")])],
            )
            exchanged(run, commit, 8)
        stored = [(record.key, record.value) for record in broker.topic("orders").records()]

    text = (tmp_path / "s").read_text()
    for word in ("classified", "sensitive", "private", "hidden", "confidential"):
        assert word not in text
        assert word.encode().hex() not in text
    assert stored == [(b"sensitive", b"classified")] * 2
    (produced,) = run.lines("request", api="Produce")
    assert request_of(produced) is not None
    (committed,) = run.lines("request", api="OffsetCommit")
    assert len(committed["message"]["Topics"][0]["Partitions"][0]["CommittedMetadata"]) == len("confidential")


def test_a_client_that_does_not_read_holds_up_nobody_else(tmp_path: Path) -> None:
    """Answers that it does not take wait with the upstream, and the proxy keeps little of them."""
    answer = b"x" * 1_000_000
    with played(answering({999: answer})) as upstream, recording(upstream.address, tmp_path / "s") as run:
        with connected(run.address) as lazy, connected(run.address) as sock:
            lazy.sendall(with_length(UNKNOWN_API) * 40)
            run.wait_for("answer", connection=1)
            assert asked(sock, UNKNOWN_API)[4:] == answer
            read = 0
            while read < 40:
                assert receive(lazy)[4:] == answer
                read += 1
        run.wait_for("close", count=2)

    assert len(run.lines("answer")) == 41
