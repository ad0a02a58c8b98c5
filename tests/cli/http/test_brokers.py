"""Isolated brokers in one process: each its own ports and state, removed when they are forgotten."""

import asyncio

import pytest

from fakebroker.cli.http import brokers as brokers_module
from fakebroker.cli.http.brokers import Brokers
from fakebroker.protocol.errors import UnknownThing
from tests.support.control import Client, with_control


def test_a_broker_of_ones_own() -> None:
    """It has the options that were given, and shares nothing with the served one."""

    async def test(control: Client) -> None:
        options = {"nodes": 3, "config": {"num.partitions": 2}, "seed": 7, "profile": "kafka", "as_release": "3.9"}
        made = await control.ask("POST", "/brokers", options)
        broker = made.json()
        assert (made.status_code, made.headers["location"]) == (201, f"/brokers/{broker['broker_id']}")
        assert len(broker["bootstrap"].split(",")) == 3
        own = f"/brokers/{broker['broker_id']}"
        assert await control.get(own) == broker
        assert await control.get(f"{own}/bootstrap") == broker["bootstrap"]
        await control.do("PUT", f"{own}/topics/orders")
        assert await control.get("/topics") == []
        assert (await control.get(f"{own}/healthz")) == {"status": "ok"}
        assert "fakebroker_topics 1.0" in (await control.ask("GET", f"{own}/metrics")).text
        await control.do("DELETE", own)
        assert await control.get("/brokers") == []
        assert (await control.problem("GET", f"{own}/topics"))["status"] == 404

    with_control(test)


def test_one_that_is_forgotten_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """After its time without a request and a client it is stopped."""
    monkeypatch.setattr(brokers_module, "LOOK_EVERY_S", 0)

    async def test() -> None:
        brokers = Brokers()
        kept, forgotten = await brokers.add(), await brokers.add(idle_ttl_s=0.0)
        while forgotten.broker.is_running:
            await asyncio.sleep(0)
        assert brokers.find(kept.broker_id).broker.is_running
        with pytest.raises(UnknownThing, match="there is no broker 'b2'; there are b1"):
            brokers.find(forgotten.broker_id)
        await brokers.close()
        assert not kept.broker.is_running

    asyncio.run(test())


@pytest.mark.parametrize(
    ("verb", "path", "body"),
    [("POST", "/groups/g/wait", {"state": "Stable", "timeout_s": 1000}), ("GET", "/journal/stream", None)],
)
def test_one_with_a_request_under_way_is_not_idle(
    verb: str, path: str, body: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wait or a stream that takes longer than `idle_ttl_s` goes on; after it the broker is idle."""
    monkeypatch.setattr(brokers_module, "LOOK_EVERY_S", 0)

    async def test(control: Client) -> None:
        isolated = await control.app.brokers.add()
        broker = isolated.broker
        request = asyncio.create_task(control.ask(verb, f"/brokers/{isolated.broker_id}{path}", body))
        while not len(broker._waiters):
            await asyncio.sleep(0)
        isolated.idle_ttl_s = 0.0
        for _ in range(50):  # looks for those that are idle
            await asyncio.sleep(0)
        assert broker.is_running
        request.cancel()
        await asyncio.wait([request])
        while broker.is_running:
            await asyncio.sleep(0)

    with_control(test)


def test_there_is_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A suite that never deletes its brokers gets a warning."""
    monkeypatch.setattr(brokers_module, "MAX_BROKERS", 1)

    async def test(control: Client) -> None:
        await control.do("POST", "/brokers")
        problem = await control.problem("POST", "/brokers")
        assert (problem["status"], "delete unused ones" in problem["detail"]) == (409, True)

    with_control(test)


def test_all_brokers_together_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of nodes, since each takes a port: by new brokers, many at once as well, by forks and by new nodes."""
    monkeypatch.setattr(brokers_module, "MAX_NODES_TOGETHER", 5)

    async def test(control: Client) -> None:
        snapshot = await control.do("POST", "/snapshots")
        answers = await asyncio.gather(*(control.ask("POST", "/brokers", {"nodes": 2}) for _ in range(10)))
        assert sorted(answer.status_code for answer in answers) == [201] * 2 + [409] * 8
        fork = f"/snapshots/{snapshot['snapshot_id']}/fork"
        for path in ("/brokers", fork, "/nodes", "/brokers/b1/nodes"):
            problem = await control.problem("POST", path)
            assert problem["detail"] == (
                "all brokers together may have 5 nodes; there are 5, and 1 more are too many; delete unused brokers"
            )
            assert problem["status"] == 409
        await control.do("DELETE", "/brokers/b1")
        await control.do("POST", "/nodes")
        await control.do("POST", fork)

    with_control(test)


def test_an_internal_error_is_reported_when_it_is_deleted() -> None:
    """A bug of the broker fails the test that caused it, in any language."""

    async def test(control: Client) -> None:
        made = await control.do("POST", "/brokers")
        own = f"/brokers/{made['broker_id']}"
        broker = next(iter(control.app.brokers)).broker
        broker.errors.append(RuntimeError("a bug"))
        assert await control.get(f"{own}/errors") == ["RuntimeError('a bug')"]
        problem = await control.problem("DELETE", own)
        assert (problem["status"], problem["detail"]) == (500, "RuntimeError: a bug")
        assert not broker.is_running
        assert await control.get("/brokers") == []
        assert await control.get("/errors") == []

    with_control(test)


def test_listeners_without_an_advertised_address_are_left_out() -> None:
    """As of the container image, where the other listener is for clients in the container network."""

    async def test(control: Client) -> None:
        made = await control.do(
            "POST", "/brokers", {"listen": ["0.0.0.0:0", "0.0.0.0:0"], "advertise": ["localhost:19092"]}
        )
        assert made["bootstrap"] == await control.get(f"/brokers/{made['broker_id']}/bootstrap") == "localhost:19092"

    with_control(test, has_host_access=True)


def test_it_listens_where_listen_says() -> None:
    """`listen` is where, `advertise` the address that clients get, as `bootstrap`, too: for containers."""

    async def test(control: Client) -> None:
        made = await control.do("POST", "/brokers", {"listen": "0.0.0.0:0", "advertise": "localhost:19092"})
        (listener,) = next(iter(control.app.brokers)).broker.listeners
        assert (listener.host, listener.advertised) == ("0.0.0.0", ("localhost", 19092))
        own = f"/brokers/{made['broker_id']}"
        assert made["bootstrap"] == "localhost:19092"
        assert (await control.get(own))["bootstrap"] == "localhost:19092"
        assert [each["bootstrap"] for each in await control.get("/brokers")] == ["localhost:19092"]
        assert await control.get(f"{own}/bootstrap") == "localhost:19092"
        assert (await control.get(f"{own}/about"))["bootstrap"] == "localhost:19092"

    with_control(test, has_host_access=True)
