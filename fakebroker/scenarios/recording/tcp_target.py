"""A replay's target in real time: a Kafka that runs, with the topics that the session began with."""

from fakebroker.client.connection import ClientConnection, Pending
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.protocol.errors import ErrorCode, FakebrokerError
from fakebroker.protocol.listeners import Address
from fakebroker.protocol.records.batch import build_batch
from fakebroker.protocol.records.record_codec import Record
from fakebroker.protocol.records.record_content import ReadRecord, records_of
from fakebroker.protocol.schema import Message
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.messages.api_versions import ApiVersionsRequest
from fakebroker.protocol.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from fakebroker.protocol.wire.messages.find_coordinator import FindCoordinatorRequest
from fakebroker.protocol.wire.messages.init_producer_id import InitProducerIdRequest
from fakebroker.protocol.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from fakebroker.protocol.wire.messages.offset_fetch import OffsetFetchRequest
from fakebroker.protocol.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from fakebroker.protocol.wire.registry import first_without_creation
from fakebroker.scenarios.recording.earlier_commits import commit_before
from fakebroker.scenarios.recording.replay import Target
from fakebroker.scenarios.recording.survey import Survey

ANSWER_WITHIN_MS = 30_000
MAX_RECORDS = 100_000  # of a partition that are made
_AT_ONCE = 1_000
_TRIES, _PAUSE_MS = 50, 200
_LEADERLESS = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
)
_CREATE_TOPICS_VERSION, _METADATA_VERSION, _PRODUCE_VERSION = 5, 1, 8
_ASKS = "fakebroker-replay"


def tcp_target(survey: Survey, host: str, port: int) -> Target:
    """The target at an address. Topics that are not there are made, with as many records as they had.

    Raises FakebrokerError when there is no Kafka, or it does not take that.
    """
    driver = TcpDriver(host, port)
    client = ClientConnection(_ASKS)
    try:
        driver.open(client)
    except OSError as error:
        raise FakebrokerError(f"there is no Kafka at {host}:{port}: {error.strerror or error}") from None
    listed = _ask(driver, client, ApiVersionsRequest(), 0)
    served: dict[int, tuple[int, int]] = {
        each.api_key: (each.min_version, each.max_version)
        for each in listed.api_keys  # type: ignore[attr-defined]
    }
    made = _make_topics(survey, driver, client)
    notes = _leftovers(survey, driver, client, made)
    for name in made:
        _fill(name, survey, driver, client)
    notes += _wake(survey, driver, client)
    commit_before(survey, driver)
    metadata = _ask(driver, client, MetadataRequest(topics=[]), _METADATA_VERSION)
    brokers = sorted((each.node_id, Address(each.host, each.port)) for each in metadata.brokers)  # type: ignore[attr-defined]
    found = dict(zip(survey.node_ids, brokers, strict=False))  # as many as there are on both sides
    nodes = {recorded: node_id for recorded, (node_id, _) in found.items()}
    addresses = {recorded: address for recorded, (_, address) in found.items()} if len(brokers) > 1 else {}
    driver.close(client)

    def is_served(api_key: int, version: int) -> bool:
        low, high = served.get(api_key, (0, -1))
        return low <= version <= high

    return Target(driver, nodes, addresses, is_served, notes=notes)


def _make_topics(survey: Survey, driver: TcpDriver, client: ClientConnection) -> list[str]:
    """Make the topics of the session; the names of those that are new."""
    if not survey.topics:
        return []
    request = CreateTopicsRequest(
        topics=[
            CreatableTopic(
                name=name,
                num_partitions=topic.partitions,
                replication_factor=-1,
                configs=[CreatableTopicConfig(name=key, value=value) for key, value in topic.config.items()],
            )
            for name, topic in survey.topics.items()
        ],
        timeout_ms=ANSWER_WITHIN_MS,
    )
    made = []
    answer = _ask(driver, client, request, _CREATE_TOPICS_VERSION)
    for each in answer.topics:  # type: ignore[attr-defined]
        if each.error_code == ErrorCode.NONE:
            made.append(each.name)
        elif each.error_code != ErrorCode.TOPIC_ALREADY_EXISTS:
            raise FakebrokerError(f"the topic {each.name} cannot be made: {each.error_message}")
    return made


def _leftovers(survey: Survey, driver: TcpDriver, client: ClientConnection, made: list[str]) -> list[str]:
    """A sentence for each topic of the session that is there already, from a replay before this one, for example."""
    names = [name for name in {**survey.topics, **survey.made} if name not in made]
    if not names:
        return []
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name=name) for name in names], allow_auto_topic_creation=False
    )
    answer = _ask(driver, client, request, first_without_creation(ApiKey.METADATA))
    return [
        f"the topic {each.name} is there already, with what is in it: differences may come of that"
        for each in answer.topics  # type: ignore[attr-defined]
        if each.error_code == ErrorCode.NONE
    ]


def _fill(name: str, survey: Survey, driver: TcpDriver, client: ClientConnection) -> None:
    """Produce what was there: records that somebody read as they were, and others in the place of the rest."""
    for index in range(survey.topics[name].partitions):
        before = survey.logs.get((name, index))
        end = min(before.end or 0, MAX_RECORDS) if before is not None else 0
        known = {} if before is None else {r.offset: r for _, data in before.batches.items() for r in records_of(data)}
        for start in range(0, end, _AT_ONCE):
            records = [
                _record(offset, known.get(offset), driver.wall_ms)
                for offset in range(start, min(start + _AT_ONCE, end))
            ]
            part = PartitionProduceData(index=index, records=build_batch(records, base_offset=start, leader_epoch=-1))
            request = ProduceRequest(acks=-1, timeout_ms=ANSWER_WITHIN_MS)
            request.topic_data = [TopicProduceData(name=name, partition_data=[part])]
            _produce(f"{name}-{index}", request, driver, client)


def _wake(survey: Survey, driver: TcpDriver, client: ClientConnection) -> list[str]:
    """A Kafka that was just started makes and loads its coordinators when they are first asked: wait until they answer.

    A group that another broker coordinates is left alone. A sentence for each group that has committed offsets already.
    """
    notes = []
    asked: list[tuple[Message, int]] = [
        (InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=ANSWER_WITHIN_MS), 0)
    ]
    for group_id in dict.fromkeys([*survey.first_generations, *survey.coordinators]):
        asked += [(FindCoordinatorRequest(key=group_id), 1), (OffsetFetchRequest(group_id=group_id, topics=None), 5)]
    for request, version in asked:
        for _ in range(_TRIES):
            answer = _ask(driver, client, request, version)
            is_elsewhere = len(survey.node_ids) > 1 and answer.error_code == ErrorCode.NOT_COORDINATOR  # type: ignore[attr-defined]
            if answer.error_code == ErrorCode.NONE or is_elsewhere:  # type: ignore[attr-defined]
                break
            driver.pass_time(_PAUSE_MS)
        if isinstance(request, OffsetFetchRequest) and answer.topics:  # type: ignore[attr-defined]
            notes.append(f"the group {request.group_id} is there already, with offsets: differences may come of that")
    return notes


def _produce(name: str, request: ProduceRequest, driver: TcpDriver, client: ClientConnection) -> None:
    """Produce one batch; a topic that was just made may have no leader yet."""
    code = -1
    for _ in range(_TRIES):
        answer = _ask(driver, client, request, _PRODUCE_VERSION)
        code = answer.responses[0].partition_responses[0].error_code  # type: ignore[attr-defined]
        if code == ErrorCode.NONE:
            return
        if code not in _LEADERLESS:
            break
        driver.pass_time(_PAUSE_MS)
    raise FakebrokerError(f"{name} cannot be filled: error {code}")


def _record(offset: int, known: ReadRecord | None, wall_ms: int) -> Record:
    if known is None or known.is_control:
        return Record(offset, wall_ms, None, b"filler")
    return Record(offset, wall_ms, known.key, known.value, known.headers)


def _ask(driver: TcpDriver, client: ClientConnection, request: Message, version: int) -> Message:
    pending: Pending = client.send(request, version)
    driver.flush(client)
    if not driver.pass_time(ANSWER_WITHIN_MS, lambda: pending.is_done):
        raise FakebrokerError(f"{pending!r}: no answer within {ANSWER_WITHIN_MS} ms")
    return pending.result()
