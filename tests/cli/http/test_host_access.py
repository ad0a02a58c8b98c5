"""Brokers that use files and ports of the machine: only callers with the token make them, or all when that is asked."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.control import Client, with_door
from tests.support.serving import controlled

URL = "sasl.oauthbearer.jwks.endpoint.url"
REACHING: dict[str, tuple[str, dict[str, Any]]] = {
    "journal": ("journal_dir", {"journal_dir": "journals"}),
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
    """By POST /brokers and by the fork of a snapshot, which writes no journal; nothing is made."""
    monkeypatch.chdir(tmp_path)
    field, options = REACHING[case]

    async def test(door: Client) -> None:
        snapshot = await door.do("POST", "/snapshots")
        fork = f"/snapshots/{snapshot['snapshot_id']}/fork"
        for path in ("/brokers",) if field == "journal_dir" else ("/brokers", fork):
            problem = await door.problem("POST", path, options)
            assert (problem["status"], problem["field"]) == (403, field), problem
            assert "--control-host-access" in problem["detail"]
        assert await door.get("/brokers") == []
        assert not list(tmp_path.iterdir())

    with_door(test)


def test_with_a_token_they_are_made(tmp_path: Path) -> None:
    """The token is what callers on the machine have in common with whoever started the broker."""

    async def test(door: Client) -> None:
        headers = {"authorization": "Bearer s3cret"}
        options = {"journal_dir": str(tmp_path / "journals"), "listen": "0.0.0.0:0"}
        assert (await door.ask("POST", "/brokers", options, headers=headers)).status_code == 201
        assert (tmp_path / "journals").is_dir()

    with_door(test, token="s3cret")


def test_the_option_of_serve_lets_all_callers() -> None:
    """--control-host-access."""
    import httpx

    with controlled("--control-host-access") as url:
        assert httpx.post(f"{url}/brokers", json={"listen": "0.0.0.0:0"}).status_code == 201
