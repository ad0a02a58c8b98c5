"""Files and addresses that clients name while a broker runs: without a token no broker reads them."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fakebroker import AsyncFakeBroker
from fakebroker.protocol.errors import ErrorCode
from tests.support.control import Client, with_control
from tests.support.tls import asked, authority, client_context

LISTEN = ["PLAINTEXT://127.0.0.1:0", "SSL://127.0.0.1:0"]
PREFIX = "listener.name.ssl.ssl."
BROKER = 4
URL = "sasl.oauthbearer.jwks.endpoint.url"


def inline_config() -> dict[str, str]:
    """A key and certificates without a file, which callers without a token may give."""
    good = authority().issue()
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": good.key_file.read_text(),
        "ssl.keystore.certificate.chain": good.file.read_text(),
    }


def places(folder: Path) -> list[str]:
    """A file that can be used, one that cannot, a directory, and one that does not exist."""
    unusable = folder / "notes"
    unusable.write_text("nothing")
    return [str(authority().issue("other.example").keystore_file), str(unusable), str(folder), str(folder / "no")]


async def altered(broker: AsyncFakeBroker, changes: Mapping[str, str]) -> tuple[int, str]:
    """What a Kafka client gets that alters settings of the broker."""
    client = await asyncio.to_thread(broker.client)
    [answer] = (await asyncio.to_thread(client.alter_configs, "1", changes, kind="broker")).responses
    return answer.error_code, answer.error_message or ""


async def serves(broker: AsyncFakeBroker, host: str) -> bool:
    """Whether the listener with TLS shows the certificate of that host. Raises OSError for that of another."""
    found = next(each for each in broker.listeners if each.name == "SSL")
    return bool(await asyncio.to_thread(asked, (found.host, found.port), client_context(), host))


async def isolated(control: Client, made: str) -> AsyncFakeBroker:
    """A broker that a caller makes, or the served one."""
    if made == "served":
        return control.broker
    options: dict[str, Any] = {"listen": LISTEN, "config": inline_config()}
    path = "/brokers"
    if made == "forked":
        path = f"/snapshots/{(await control.do('POST', '/snapshots'))['snapshot_id']}/fork"
    broker_id = (await control.do("POST", path, options))["broker_id"]
    return control.app.brokers.find(broker_id).broker


@pytest.mark.rules("IA-12")
@pytest.mark.parametrize("store", ["keystore", "truststore"])
@pytest.mark.parametrize("made", ["served", "made", "forked"])
def test_a_client_names_a_file(made: str, store: str, tmp_path: Path) -> None:
    """The answer is the same for every file, and the listener goes on with the keys that it has."""

    async def test(control: Client) -> None:
        broker = await isolated(control, made)
        for place in places(tmp_path):
            code, message = await altered(broker, {f"{PREFIX}{store}.location": place})
            assert code == ErrorCode.INVALID_REQUEST
            assert f"ssl.{store}.location: the broker does not read {place}, which its options do not name" in message
            assert "--control-host-access" in message
        assert await serves(broker, "localhost")

    with_control(test, listen=LISTEN, config=inline_config())


@pytest.mark.rules("IA-12")
@pytest.mark.parametrize("path", ["/scenarios", "/brokers/b1/scenarios"])
def test_a_step_of_a_scenario_names_a_file(path: str) -> None:
    """It is refused as that of any client is."""
    place = authority().issue("other.example").keystore_file
    config = {"name": f"{PREFIX}keystore.location", "config_operation": 0, "value": str(place)}
    step = {
        "a": "request IncrementalAlterConfigs",
        "version": 1,
        "resources": [{"resource_type": BROKER, "resource_name": "1", "configs": [config]}],
        "note": "the file of another",
        "expect": {"responses": [{"error_code": int(ErrorCode.INVALID_REQUEST)}]},
    }
    scenario = json.dumps({"about": "A client alters a broker.", "actors": ["a"], "timeline": [step]})

    async def test(control: Client) -> None:
        broker = await isolated(control, "made")
        answer = await control.ask("POST", path, {"scenario": scenario})
        assert answer.status_code == 202, answer.text
        waited = await control.do("POST", f"{answer.headers['location']}/wait", {})
        assert waited["state"] == "passed", waited
        for each in (broker, control.broker):
            assert await serves(each, "localhost")

    with_control(test, listen=LISTEN, config=inline_config())


@pytest.mark.parametrize("access", [{"token": "s3cret"}, {"has_host_access": True}])
def test_with_host_access_a_client_may(access: dict[str, Any]) -> None:
    """As in Kafka (KIP-226)."""
    place = str(authority().issue("other.example").keystore_file)

    async def test(control: Client) -> None:
        control.http.headers["authorization"] = "Bearer s3cret"
        for broker in (control.broker, await isolated(control, "made"), await isolated(control, "forked")):
            assert await altered(broker, {f"{PREFIX}keystore.location": place}) == (ErrorCode.NONE, "")
            assert await serves(broker, "other.example")

    with_control(test, listen=LISTEN, config=inline_config(), **access)


def test_what_the_options_name_is_read() -> None:
    """By a broker that was started with files, and by its forks, whoever alters what they are for."""
    other = str(authority().issue("other.example").keystore_file)
    config = authority().broker_config() | {"listener.name.second.ssl.keystore.location": other}

    async def test(control: Client) -> None:
        for broker in (control.broker, await isolated(control, "forked")):
            assert await altered(broker, {f"{PREFIX}keystore.location": other}) == (ErrorCode.NONE, "")
            assert await serves(broker, "other.example")

    with_control(test, listen=LISTEN, config=config)


def test_what_a_client_named_before_is_read_on() -> None:
    """The control port comes after the settings of a data directory or of a snapshot; a `reset` keeps nothing else."""
    before, after = (str(authority().issue(f"{name}.example").keystore_file) for name in ("before", "after"))

    async def test() -> None:
        from fakebroker.cli.http.app import ControlApp

        async with AsyncFakeBroker(listen=LISTEN, config=inline_config()) as broker:
            assert await altered(broker, {f"{PREFIX}keystore.location": before}) == (ErrorCode.NONE, "")
            app = ControlApp(broker)
            assert await serves(broker, "before.example")
            code, _ = await altered(broker, {f"{PREFIX}keystore.location": after})
            assert code == ErrorCode.INVALID_REQUEST
            assert await serves(broker, "before.example")
            await app.close()

    asyncio.run(test())


@pytest.mark.parametrize("name", [f"{PREFIX}keystore.location", "listener.name.x.ssl.keystore.location", "x.location"])
def test_a_file_that_no_listener_uses(name: str) -> None:
    """It cannot be set: with the same data the next start, or a fork, may have a listener that would read it."""
    place = str(authority().issue("other.example").keystore_file)

    async def test(control: Client) -> None:
        code, message = await altered(control.broker, {name: place})
        assert code == ErrorCode.INVALID_REQUEST
        assert f"{name}: the broker does not read {place}" in message
        broker = await isolated(control, "forked")
        with pytest.raises(OSError):
            await serves(broker, "other.example")

    with_control(test, listen="PLAINTEXT://127.0.0.1:0")


def test_addresses(tmp_path: Path) -> None:
    """Keys of tokens are fetched from the address of the options alone."""
    named, other = tmp_path / "named", tmp_path / "other"
    for file in (named, other):
        file.write_text('{"keys": []}')

    async def fetched(broker: AsyncFakeBroker, url: str) -> bytes | Exception:
        future: asyncio.Future[bytes | Exception] = asyncio.get_running_loop().create_future()
        broker._engine.fetch(url, future.set_result)
        return await future

    async def test(control: Client) -> None:
        assert await fetched(control.broker, named.as_uri()) == named.read_bytes()
        refused = await fetched(control.broker, other.as_uri())
        assert isinstance(refused, PermissionError)
        assert other.as_uri() in str(refused)

    async def test_trusted(control: Client) -> None:
        assert await fetched(control.broker, other.as_uri()) == other.read_bytes()

    with_control(test, config={URL: named.as_uri()})
    with_control(test_trusted, config={URL: named.as_uri()}, has_host_access=True)
