"""FakeBroker and AsyncFakeBroker: starting, stopping, waiting, what goes wrong, and what an import costs."""

import asyncio
import socket
import subprocess
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest

import fakebroker
from fakebroker import AsyncFakeBroker, FakeBroker
from fakebroker.broker.apis import handlers
from fakebroker.broker.core.deadlines import Deadline
from fakebroker.broker.release import UnknownRelease
from fakebroker.protocol.errors import ErrorCode, InvalidArgument, KafkaError, SettingError, WaitTimeout
from fakebroker.protocol.wire.api_keys import ApiKey
from tests.support.frames import request

HEARTBEAT = request("Heartbeat", 4, 7, group_id="g", generation_id=1, member_id="m")


def ask(broker: FakeBroker | AsyncFakeBroker, data: bytes = HEARTBEAT, place: int = 0) -> bytes:
    """Send a request over TCP and read some of the answer."""
    listener = broker.listeners[place]
    with socket.create_connection((listener.host, listener.port), timeout=20) as client:
        client.sendall(data)
        return client.recv(1000)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every API has a bug."""

    def handle(call: Any, request: Any) -> Any:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(handlers, "handler", lambda _key: SimpleNamespace(handle=handle))


def test_a_broker_from_start_to_stop() -> None:
    """It listens on a free port while it runs, and only then; the thread is gone afterwards."""
    broker = FakeBroker()
    assert not broker.is_running
    with broker:
        host, port = broker.bootstrap.split(":")
        assert (host, int(port) > 0, broker.is_running) == ("127.0.0.1", True, True)
        assert ask(broker)[4:8] == b"\0\0\0\7"
    assert not broker.is_running
    with pytest.raises(ConnectionRefusedError):
        ask(broker)
    assert "fakebroker" not in [thread.name for thread in threading.enumerate()]


def test_stop_and_start_keep_the_port_and_the_state() -> None:
    """For tests of clients that reconnect; starting or stopping twice does no harm."""
    with FakeBroker() as broker:
        broker.create_topic("orders", partitions=2)
        before = broker.bootstrap
        broker.stop()
        broker.stop()
        broker.start()
        broker.start()
        assert broker.bootstrap == before
        assert ask(broker)
        assert broker._engine.cluster.topics.get("orders") is not None


def test_reset_empties_and_disconnects() -> None:
    """No topics, no history, the machine's time again; who was connected reads the end of the stream."""
    with FakeBroker() as broker:
        broker.create_topic("orders")
        broker.clock.advance(days=3)
        listener = broker.listeners[0]
        with socket.create_connection((listener.host, listener.port), timeout=20) as client:
            client.sendall(HEARTBEAT)
            assert client.recv(100)
            broker.reset()
            assert client.recv(100) == b""
        assert "orders" not in broker._engine.cluster.topics
        assert list(broker.journal.requests()) == []
        broker.create_topic("orders")
        assert ask(broker)


def test_one_seed_one_cluster() -> None:
    """Ids follow from the seed, also after a reset."""
    brokers = [FakeBroker(seed=seed) for seed in (3, 3, 4)]
    ids = [broker._engine.cluster.cluster_id for broker in brokers]
    brokers[0].reset()
    assert ids[0] == ids[1] == brokers[0]._engine.cluster.cluster_id
    assert ids[0] != ids[2]


def test_several_nodes_have_a_listener_each() -> None:
    """bootstrap names them all, and Metadata names them to clients of any."""
    with FakeBroker(nodes=3) as broker:
        assert len(broker.bootstrap.split(",")) == 3
        answer = ask(broker, request("Metadata", 1, 7, topics=[]), place=2)
        for listener in broker.listeners:
            assert listener.port.to_bytes(4, "big") in answer


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"config": {"num.partition": 1}}, SettingError, "num.partitions"),
        ({"config": {"num.partitions": "many"}}, SettingError, "num.partitions"),
        ({"profile": "fast"}, InvalidArgument, "kafka"),
        ({"as_release": "1.7"}, UnknownRelease, "1.1"),
        ({"listen": "localhost"}, ValueError, "HOST:PORT"),
        ({"listen": "node=2,127.0.0.1:0"}, ValueError, "no node 2"),
        ({"listen": "color=red,127.0.0.1:0"}, ValueError, "dialect=NAME"),
        ({"advertise": ["a:1", "b:2"]}, ValueError, "2 addresses to advertise for 1 listeners"),
    ],
)
def test_bad_options_are_said_plainly(options: dict[str, Any], error: type[Exception], message: str) -> None:
    """Before anything is started, with what would be right."""
    with pytest.raises(error, match=message):
        FakeBroker(**options)


def test_settings_profile_and_release() -> None:
    """`config` wins over the profile; the release decides what is offered."""
    broker = FakeBroker(config={"num.partitions": 7}, as_release="2.1")
    kafka = FakeBroker(profile="kafka")
    assert broker._engine.cluster.settings.get_int("num.partitions") == 7
    assert broker._engine.cluster.settings.get_int("group.initial.rebalance.delay.ms") == 0
    assert kafka._engine.cluster.settings.get_int("group.initial.rebalance.delay.ms") == 3000
    assert broker.listeners[0].versions[ApiKey.API_VERSIONS] == (0, 2)


def test_advertised_addresses() -> None:
    """What clients get: what was configured, else where they connected to."""
    with FakeBroker(listen=["127.0.0.1:0", "127.0.0.1:0"], advertise="kafka.example:29092") as broker:
        asked = request("Metadata", 1, 7, topics=[])
        assert b"kafka.example" in ask(broker, asked)
        assert b"127.0.0.1" in ask(broker, asked, place=1)


def test_topics() -> None:
    """create_topic gives the topic, and says what is wrong with a name or a setting."""
    broker = FakeBroker()
    broker.create_topic("orders", partitions=3, config={"retention.ms": 5})
    topic = broker._engine.cluster.topics.get("orders")
    assert topic is not None
    assert (len(topic.partitions), topic.config.get_int("retention.ms")) == (3, 5)
    for name, config, code in (
        ("orders", {}, ErrorCode.TOPIC_ALREADY_EXISTS),
        ("a b", {}, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("b", {"retention.ms": "long"}, ErrorCode.INVALID_CONFIG),
    ):
        with pytest.raises(KafkaError) as caught:
            broker.create_topic(name, config=config)
        assert caught.value.code == code


@pytest.mark.rules("AV-10")
def test_stop_raises_what_a_handler_raised(broken: None) -> None:
    """A bug of the broker's fails the test that hit it, once; the same bug again is counted, another is another."""
    broker = FakeBroker().start()
    ask(broker)
    ask(broker)
    assert len(broker.errors) == 1
    assert any("1 more" in note for note in broker.errors[0].__notes__)
    broker.errors.append(LookupError("another"))
    with pytest.raises(ExceptionGroup, match="internal errors of the broker"):
        broker.stop()
    broker.stop()

    with pytest.raises(ZeroDivisionError, match="a bug"), FakeBroker() as broker:
        ask(broker)


def test_an_error_of_the_test_is_not_hidden_by_one_of_the_brokers(broken: None) -> None:
    """The test's own failure comes first and mentions the other."""

    def fail_after_asking() -> None:
        with FakeBroker() as broker:
            ask(broker)
            raise LookupError("of the test")

    with pytest.raises(LookupError) as caught:
        fail_after_asking()
    assert "a bug" in caught.value.__notes__[0]


def test_waits_end_when_the_engine_did_something() -> None:
    """What a request brings about ends a wait at once; a wait that gives up says what the caller wants said."""
    with FakeBroker() as broker:
        asker = threading.Timer(0, ask, [broker])
        asker.start()
        assert broker.wait(lambda: broker.journal.requests("Heartbeat") or None, 20, lambda: "no heartbeat")
        asker.join()
        with pytest.raises(WaitTimeout, match="saw nothing"):
            broker.wait(lambda: None, 0.01, lambda: "saw nothing")
        with pytest.raises(ZeroDivisionError):
            broker.wait(lambda: 1 // 0, 1, lambda: "")
        assert len(broker._waiters) == 0


def test_calls_from_any_thread_even_the_brokers_own() -> None:
    """`call` raises what the function raised and may be nested; before the start and after the stop it works too."""
    broker = FakeBroker()
    assert broker._call(lambda: 1) == 1
    with broker:
        thread = broker._call(threading.current_thread)
        assert thread.name == "fakebroker"
        assert broker._call(lambda: broker._call(threading.current_thread)) is thread
        with pytest.raises(ZeroDivisionError):
            broker._call(lambda: 1 // 0)
    assert broker.story() == "nothing happened"


def test_time_that_passed_while_stopped_is_made_up_for() -> None:
    """What fell due while nobody listened happens at the start."""
    broker = FakeBroker()
    rang: list[int] = []
    now = broker._engine.now
    broker._engine.cluster.timers.mono.arm(Deadline(lambda at: rang.append(at.mono_ms)), now.mono_ms)
    with broker:
        broker.wait(lambda: rang or None, 20, lambda: "the deadline did not ring")


def test_async_broker() -> None:
    """The same in the caller's loop: methods at once, waits awaited, the port kept."""

    async def live() -> None:
        async with AsyncFakeBroker() as broker:
            broker.create_topic("orders")
            answer = asyncio.get_running_loop().run_in_executor(None, ask, broker)
            assert await broker.wait(lambda: broker.journal.requests() or None, 20, lambda: "no request")
            assert (await answer)[4:8] == b"\0\0\0\7"
            with pytest.raises(WaitTimeout, match="in vain"):
                await broker.wait(lambda: None, 0.01, lambda: "in vain")
            before = broker.bootstrap
            await broker.stop()
            await broker.start()
            assert broker.bootstrap == before
            broker.reset()
            assert "orders" not in broker._engine.cluster.topics

    asyncio.run(live())


def test_async_broker_raises_what_a_handler_raised(broken: None) -> None:
    """A bug of the broker's comes out of the `async with`."""

    async def live() -> None:
        async with AsyncFakeBroker() as broker:
            await asyncio.get_running_loop().run_in_executor(None, ask, broker)

    with pytest.raises(ZeroDivisionError):
        asyncio.run(live())


def test_public_names() -> None:
    """All of them are there, and nothing else is invented."""
    for name in fakebroker.__all__:
        assert getattr(fakebroker, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'Broker'"):
        _ = fakebroker.Broker


def test_importing_the_package_is_cheap() -> None:
    """`import fakebroker` loads nothing but itself: what is heavy is loaded when it is used."""
    code = "import sys; before = set(sys.modules); import fakebroker; print(*sorted(set(sys.modules) - before))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["fakebroker"]
