"""Requests that go through stages (rights, faults, quotas) leave nothing to the cycle collector."""

from random import Random

from tests.broker.engine.test_memory import collector_off
from tests.support.strangers import SecretRequests, client_of, secretive_broker, served, topic_ids

KEPT = {"Exchange", "StagedCall", "AuthorizedRequest", "RequestMeter", "Connection"}
WAIT = {"Fetch", "DescribeShareGroupOffsets"}  # a client that leaves meanwhile leaves a little
EACH = 3


def test_what_is_refused_goes_with_its_answer() -> None:
    """It may be of 100 MB. Whatever a client without any right asks for: request and answer are not in a cycle."""
    broker = secretive_broker(has_secrets=True)
    requests = SecretRequests(Random(1), topic_ids(broker))

    def ask(frame: bytes) -> bool:
        client = client_of(broker, "stranger")
        client.socket.send(frame)
        is_answered = bool(client.socket.take())
        client.socket.close()
        return is_answered

    asked = 0
    for api, version in served(broker):
        frames = [requests.frame(api, version) for _ in range(EACH)]
        answered = [frame for frame in frames if ask(frame)]
        with collector_off() as found:
            for frame in answered:
                ask(frame)
        asked += len(answered)
        assert api.name in WAIT or not KEPT & set(found), (api.name, version, found)
    assert asked > 500
    assert broker.errors == []
