"""A replay's target in real time: a Kafka that runs, with the topics that the session began with."""

from fakebroker.client.connection import ClientConnection, Pending
from fakebroker.errors import ErrorCode, FakebrokerError
from fakebroker.listeners import Address
from fakebroker.recording.replay import Target
from fakebroker.recording.survey import Survey
from fakebroker.schema import Message
from fakebroker.testclient.tcp_driver import TcpDriver
from fakebroker.wire.messages.api_versions import ApiVersionsRequest
from fakebroker.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from fakebroker.wire.messages.metadata import MetadataRequest

ANSWER_WITHIN_MS = 30_000
_CREATE_TOPICS_VERSION, _METADATA_VERSION = 5, 1
_ASKS = "fakebroker-replay"


def tcp_target(survey: Survey, host: str, port: int) -> Target:
    """The target at an address. Its topics are made if they are not there; what was in them is not.

    Raises FakebrokerError when there is no Kafka, or a topic cannot be made.
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
    _make_topics(survey, driver, client)
    metadata = _ask(driver, client, MetadataRequest(topics=[]), _METADATA_VERSION)
    brokers = sorted((each.node_id, Address(each.host, each.port)) for each in metadata.brokers)  # type: ignore[attr-defined]
    addresses = {
        node_id: brokers[index % len(brokers)][1] for index, node_id in enumerate(survey.node_ids) if len(brokers) > 1
    }
    driver.close(client)

    def is_served(api_key: int, version: int) -> bool:
        low, high = served.get(api_key, (0, -1))
        return low <= version <= high

    return Target(driver, addresses, is_served)


def _make_topics(survey: Survey, driver: TcpDriver, client: ClientConnection) -> None:
    if not survey.topics:
        return
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
    answer = _ask(driver, client, request, _CREATE_TOPICS_VERSION)
    for each in answer.topics:  # type: ignore[attr-defined]
        if each.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
            raise FakebrokerError(f"the topic {each.name} cannot be made: {each.error_message}")


def _ask(driver: TcpDriver, client: ClientConnection, request: Message, version: int) -> Message:
    pending: Pending = client.send(request, version)
    driver.flush(client)
    if not driver.pass_time(ANSWER_WITHIN_MS, lambda: pending.is_done):
        raise FakebrokerError(f"{pending!r}: no answer within {ANSWER_WITHIN_MS} ms")
    return pending.result()
