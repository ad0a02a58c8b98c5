"""The in-memory network: virtual time, and the same bytes in every run."""

from random import Random

import pytest

from tests.engine.lab import START, Client, EngineLab, correlation_ids, framed, frames, request

DAY_MS = 86_400_000


def test_time_passes_only_when_told_to() -> None:
    """Nothing moves by itself; both readings move together."""
    lab = EngineLab()
    lab.client().join()
    assert lab.network.now == START
    lab.network.advance(8 * DAY_MS)
    assert lab.network.now == START.plus(8 * DAY_MS)


def test_clients_hear_of_each_deadline_at_its_moment() -> None:
    """A parked join is answered the moment it is due, and the clock stands there when a condition is met."""
    lab = EngineLab({"group.initial.rebalance.delay.ms": 750}, profile="kafka")
    client = lab.client()
    client.join()
    heard: list[bytes] = []

    def has_heard() -> bool:
        heard.append(client.socket.take())
        return bool(heard[-1])

    assert lab.network.run_until(has_heard, within_ms=10_000)
    assert lab.network.now == START.plus(750)
    assert correlation_ids(b"".join(heard)) == [1]


def test_a_condition_that_does_not_come_true() -> None:
    """run_until says so, and the time has passed."""
    lab = EngineLab()
    assert not lab.network.run_until(lambda: False, within_ms=5_000)
    assert lab.network.now == START.plus(5_000)


def test_the_broker_may_close() -> None:
    """A client sees that it was closed; what it sends then goes nowhere."""
    client = EngineLab().client()
    client.socket.send(framed(b""))
    assert client.socket.is_closed
    client.socket.send(request("Heartbeat", 4))
    assert client.socket.take() == b""


def test_a_thousand_requests_in_one_piece_are_all_answered() -> None:
    """Turns follow one another without the client's doing."""
    client = EngineLab().client()
    client.socket.send(request("ApiVersions", 0) * 1000)
    assert len(frames(client.socket.take())) == 1000


def workload(seed: int) -> bytes:
    """Every byte that a broker of that seed sends while groups form, commit, produce, expire."""
    lab = EngineLab(profile="kafka", settings={"offsets.topic.replication.factor": 1}, seed=seed)
    random = Random(5)
    clients = [lab.client() for _ in range(6)]
    sent = [clients[0].socket.take()]
    clients[0].ask("CreateTopics", 4, topics=[])
    for round_ in range(60):
        client = random.choice(clients)
        client.socket.send(ordinary_request(random, round_, client))
        if random.random() < 0.3:
            lab.network.advance(random.choice((1, 100, 3_000, 60_000)))
        sent += [each.socket.take() for each in clients]
    lab.network.advance(8 * DAY_MS)
    sent += [each.socket.take() for each in clients]
    sent += [repr(entry).encode() for entry in lab.journal.entries()]
    assert lab.engine.errors == []
    return b"".join(sent)


def ordinary_request(random: Random, correlation_id: int, client: Client) -> bytes:
    from tests.engine.lab import JOIN

    choice = random.randrange(5)
    if choice == 0:
        group = {**JOIN, "group_id": random.choice("xyz"), "session_timeout_ms": 10_000}
        return request("JoinGroup", random.choice((3, 5)), correlation_id, **group)
    if choice == 1:
        return request("Metadata", 9, correlation_id, topics=None)
    if choice == 2:
        return request("InitProducerId", 1, correlation_id, transactional_id=None, transaction_timeout_ms=1000)
    if choice == 3:
        return request("FindCoordinator", 2, correlation_id, key=random.choice("xyz"))
    return request("ListGroups", 4, correlation_id)


@pytest.mark.parametrize("seed", [0, 7])
def test_the_same_workload_under_one_seed_gives_the_same_bytes(seed: int) -> None:
    """Answers, ids, journal: all of it, in every run."""
    assert workload(seed) == workload(seed)


def test_another_seed_gives_other_bytes() -> None:
    """Member ids, topic ids and the cluster id follow from the seed."""
    assert workload(1) != workload(2)
