"""Brokers that use files and ports of the machine: only callers with the token make them, or all when that is asked."""

import json
from pathlib import Path
from typing import Any

import pytest

from fakebroker.testing.snapshot.snapshot import Snapshot
from fakebroker.testing.virtual_broker import VirtualBroker
from tests.support.control import Client, with_control
from tests.support.serving import controlled

SCENARIO = {"about": "A consumer.", "actors": ["a"], "timeline": [{"a": "login b", "password": "c"}]}
URL = "sasl.oauthbearer.jwks.endpoint.url"
REACHING: dict[str, tuple[str, dict[str, Any]]] = {
    "journal": ("journal_dir", {"journal_dir": "journals"}),
    "data": ("data", {"data": "kafka-data"}),
    "every address": ("listen", {"listen": "0.0.0.0:0"}),
    "every address, short": ("listen", {"listen": [":0"]}),
    "one of two": ("listen", {"listen": ["127.0.0.1:0", "SSL://[::]:0"]}),
    "keys by http": ("config", {"config": {URL: "http://127.0.0.1:1/keys"}}),
    "keys of a file": ("config", {"config": {URL: "file:///etc/passwd"}}),
    "of a listener": ("config", {"config": {f"listener.name.sasl_plaintext.oauthbearer.{URL}": "file:///x"}}),
    "a key store": ("config", {"config": {"ssl.keystore.location": "/etc/passwd"}}),
    "a trust store": ("config", {"config": {"listener.name.ssl.ssl.truststore.location": "/etc/passwd"}}),
}


@pytest.mark.parametrize("case", REACHING)
def test_without_a_token_they_are_refused(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By POST /brokers and by the fork of a snapshot, which writes no journal and no data; nothing is made."""
    monkeypatch.chdir(tmp_path)
    field, options = REACHING[case]

    async def test(control: Client) -> None:
        snapshot = await control.do("POST", "/snapshots")
        fork = f"/snapshots/{snapshot['snapshot_id']}/fork"
        for path in ("/brokers",) if field in ("journal_dir", "data") else ("/brokers", fork):
            problem = await control.problem("POST", path, options)
            assert (problem["status"], problem["field"]) == (403, field), problem
            assert "--control-host-access" in problem["detail"]
        assert await control.get("/brokers") == []
        assert not list(tmp_path.iterdir())

    with_control(test)


IN_CONFIG = {case: options["config"] for case, (field, options) in REACHING.items() if field == "config"}


def snapshots_with(config: dict[str, str]) -> list[Snapshot]:
    """Snapshots that have a setting in each place: of the start, at run time of all or of one broker, of one alone."""
    with VirtualBroker() as broker:
        state = broker.snapshot().state
    node, cluster, options = state.cluster.nodes[0], state.cluster, state.options
    changed = [
        state._replace(options=options._replace(config=options.config | config)),
        state._replace(cluster=cluster._replace(dynamic=config)),
        state._replace(cluster=cluster._replace(nodes=(node._replace(dynamic=config),))),
        state._replace(cluster=cluster._replace(nodes=(node._replace(own=node.own | config),))),
    ]
    return [Snapshot(each) for each in changed]


@pytest.mark.parametrize("case", IN_CONFIG)
def test_without_a_token_a_snapshot_file_brings_none_of_them(case: str) -> None:
    """Wherever the file has the setting; nothing is kept that could be restored or forked."""
    contents = [each.to_bytes() for each in snapshots_with(IN_CONFIG[case])]

    async def test(control: Client) -> None:
        for content in contents:
            problem = await control.problem("POST", "/snapshots/file", content=content)
            assert (problem["status"], problem["type"]) == (403, "urn:fakebroker:problem:forbidden-option")
        assert await control.get("/snapshots") == []

    async def test_trusted(control: Client) -> None:
        assert (await control.ask("POST", "/snapshots/file", content=contents[0])).status_code == 201

    with_control(test)
    with_control(test_trusted, has_host_access=True)


@pytest.mark.parametrize("case", IN_CONFIG)
def test_without_a_token_a_scenario_brings_none_of_them(case: str) -> None:
    """A broker in virtual time reads its keys, too."""
    body = {"virtual": True, "scenario": json.dumps(SCENARIO | {"config": IN_CONFIG[case]})}

    async def test(control: Client) -> None:
        problem = await control.problem("POST", "/scenarios", body)
        assert (problem["status"], problem["field"]) == (403, "config"), problem
        assert await control.get("/scenarios") == []

    with_control(test)


def test_scenarios_and_snapshots_of_others_are_taken() -> None:
    """What reaches nothing needs no token."""
    (content, *_) = [each.to_bytes() for each in snapshots_with({"num.partitions": "3"})]

    async def test(control: Client) -> None:
        assert (await control.ask("POST", "/snapshots/file", content=content)).status_code == 201
        body = {"virtual": True, "scenario": json.dumps(SCENARIO | {"config": {"num.partitions": 3}})}
        assert (await control.do("POST", "/scenarios", body))["state"] == "passed"

    with_control(test)


def test_with_a_token_they_are_made(tmp_path: Path) -> None:
    """The token is what callers on the machine have in common with whoever started the broker."""

    async def test(control: Client) -> None:
        headers = {"authorization": "Bearer s3cret"}
        options = {"journal_dir": str(tmp_path / "journals"), "listen": "0.0.0.0:0"}
        assert (await control.ask("POST", "/brokers", options, headers=headers)).status_code == 201
        assert (tmp_path / "journals").is_dir()

    with_control(test, token="s3cret")


def test_the_option_of_serve_lets_all_callers() -> None:
    """--control-host-access."""
    import httpx

    with controlled("--control-host-access") as url:
        assert httpx.post(f"{url}/brokers", json={"listen": "0.0.0.0:0"}).status_code == 201
