"""The registry agrees with the messages, and costs nothing before they are used."""

import subprocess
import sys

import pytest

from fakebroker.wire.registry import APIS, api


@pytest.mark.parametrize("entry", APIS.values(), ids=lambda entry: entry.name)
def test_entries_agree_with_the_messages(entry: object) -> None:
    """Key, versions and the first flexible version are those of request and response."""
    found = api(entry.name)  # type: ignore[attr-defined]

    assert found is api(found.key) is entry
    for message, kind in ((found.request, "Request"), (found.response, "Response")):
        assert message.kafka_name == found.name + kind
        assert message.api_key == found.key
        assert message.versions == (found.min, found.max)
        for version in range(found.min, found.max + 1):
            assert message.flexible.includes(version) == found.is_flexible(version)


def test_unknown_apis_are_named() -> None:
    """Asking for an API that is not there says so, and what there is."""
    with pytest.raises(KeyError, match=r"no messages for the API 'Heartbeet', only for .*Heartbeat"):
        api("Heartbeet")
    with pytest.raises(KeyError, match="no messages for the API 999"):
        api(999)


def test_importing_the_registry_imports_no_messages() -> None:
    """Messages, and the code generator, are imported when an API is first used."""
    code = "import sys, fakebroker.wire.registry; print([m for m in sys.modules if 'messages.' in m or 'codegen' in m])"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
