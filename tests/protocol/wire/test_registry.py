"""The registry agrees with the messages, and costs nothing before they are used."""

import subprocess
import sys

import pytest

from fakebroker.protocol.wire.registry import APIS, api


def test_entries_agree_with_the_messages() -> None:
    """Key, versions and the first flexible version of every entry are those of request and response."""
    for entry in APIS.values():
        assert api(entry.name) is api(entry.key) is entry
        for message, kind in ((entry.request, "Request"), (entry.response, "Response")):
            assert message.kafka_name == entry.name + kind
            assert message.api_key == entry.key
            assert message.versions == (entry.min, entry.max)
            for version in range(entry.min, entry.max + 1):
                assert message.flexible.includes(version) == entry.is_flexible(version), (message, version)


def test_unknown_apis_are_named() -> None:
    """Asking for an API that is not there says so, and what there is."""
    with pytest.raises(KeyError, match=r"no messages for the API 'Heartbeet', only for .*Heartbeat"):
        api("Heartbeet")
    with pytest.raises(KeyError, match="no messages for the API 999"):
        api(999)


def test_importing_the_registry_imports_no_messages() -> None:
    """Messages, and the code generator, are imported when an API is first used."""
    kinds = "'messages.' in m or 'codegen' in m"
    code = f"import sys, fakebroker.protocol.wire.registry; print([m for m in sys.modules if {kinds}])"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
