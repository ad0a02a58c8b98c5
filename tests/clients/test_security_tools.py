"""Kafka's tools for rights, users, quotas, tokens and client metrics print against us what they print against Kafka."""

from pathlib import Path

import pytest

from tests.clients.java_programs import ROOT, needs_jars
from tests.clients.secured import PASSWORDS, secured_fakebroker
from tests.clients.security_tools import TRANSCRIPTS, transcript

pytestmark = [
    pytest.mark.clients,
    pytest.mark.java,
    pytest.mark.slow,
    pytest.mark.timeout(300),
    needs_jars("kafka-tools", "KAFKA'S TOOLS FOR SECURITY"),
]
RULES = {
    "acls": ("AU-9", "AU-10", "AU-11", "AU-13"),
    "users": ("SC-1", "SC-2", "SC-3", "SC-4"),
    "quotas": ("QU-1", "QU-2", "QU-3", "QU-5"),
    "client-metrics": ("DC-7", "LC-2", "TE-6"),
    "delegation-tokens": ("TK-2", "TK-3", "TK-4"),
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.rules(*RULES[name])) for name in RULES])
def test_the_tools_print_what_they_print_against_kafka(name: str, tmp_path: Path) -> None:
    """What is added, listed, changed, refused and taken back: the same words."""
    expected = (ROOT / "tests" / "data" / "console" / f"{name}.txt").read_text()
    with secured_fakebroker(TRANSCRIPTS[name][1]) as server:
        server.set_password("alice", PASSWORDS["alice"])
        if name != "delegation-tokens":
            server.remove_passwords("alice")

        assert transcript(name, server, tmp_path) == expected
