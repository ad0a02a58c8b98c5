"""The registry agrees with the messages, and costs nothing before they are used."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from fakebroker.protocol.schema.types import ArrayOf
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.registry import (
    APIS,
    Api,
    api,
    first_without_creation,
    newest_by_name,
    newest_for_one,
    newest_with_retention,
)


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
    with pytest.raises(KeyError, match="there is no API 'Heartbeet'; did you mean 'Heartbeat'"):
        api("Heartbeet")
    with pytest.raises(KeyError, match="there is no API 999"):
        api(999)


def test_importing_the_registry_imports_no_messages() -> None:
    """Messages, and the code generator, are imported when an API is first used."""
    kinds = "'messages.' in m or 'codegen' in m"
    code = f"import sys, fakebroker.protocol.wire.registry; print([m for m in sys.modules if {kinds}])"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_numbers_are_those_of_kafka_4_3() -> None:
    """0 to 92 without a gap; the name of each is that of its messages."""
    assert sorted(ApiKey) == list(range(93))
    assert {key: ApiKey(key).api_name for key in APIS} == {key: entry.name for key, entry in APIS.items()}


def fields(declaration: Any) -> Iterator[Any]:
    """The fields of a request, those of the structures in it included."""
    for spec in declaration.fields:
        yield spec
        element = spec.type.element if isinstance(spec.type, ArrayOf) else spec.type
        if hasattr(element, "fields"):
            yield from fields(element)


def last_without(entry: Api, names: set[str]) -> int:
    """The last version of an API before its requests have one of these fields; the newest if that is in all or none."""
    first = [spec.versions.first for spec in fields(entry.request) if spec.name in names]
    return min(first) - 1 if first and min(first) > entry.min else entry.max


def test_topics_have_ids_after_the_newest_version_by_name() -> None:
    """For every API: a request that has topic ids in later versions names topics in this one."""
    expected = {entry.name: last_without(entry, {"topic_id"}) for entry in APIS.values()}

    assert {entry.name: newest_by_name(entry.key) for entry in APIS.values()} == expected


def test_requests_have_lists_after_the_newest_version_for_one() -> None:
    """For every API: OffsetFetch has groups after it, FindCoordinator keys, LeaveGroup members."""
    lists = {"groups", "coordinator_keys", "members", "transactions"}
    expected = {entry.name: last_without(entry, lists) for entry in APIS.values()}

    assert {entry.name: newest_for_one(ApiKey(entry.key)) for entry in APIS.values()} == expected


def test_retention_is_in_a_commit_up_to_the_newest_version_with_it() -> None:
    """OffsetCommit v2 to v4."""
    (spec,) = (spec for spec in fields(APIS[ApiKey.OFFSET_COMMIT].request) if spec.name == "retention_time_ms")

    assert newest_with_retention(ApiKey.OFFSET_COMMIT) == spec.versions.last


def test_topics_need_not_be_created_from_the_first_version_without_creation() -> None:
    """Metadata has the field from that version on."""
    (spec,) = (spec for spec in fields(APIS[ApiKey.METADATA].request) if spec.name == "allow_auto_topic_creation")

    assert first_without_creation(ApiKey.METADATA) == spec.versions.first
