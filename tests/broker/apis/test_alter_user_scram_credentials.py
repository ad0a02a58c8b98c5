"""AlterUserScramCredentials: what is stored, what is refused, and that the rest goes through."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.core.security.mechanisms import SCRAM_SHA_256, SCRAM_SHA_512
from fakebroker.broker.core.security.scram import MAX_SALT_BYTES
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)


def upsertion(
    name: str,
    mechanism: int = 1,
    iterations: int = 4096,
    salted_password: bytes = b"x" * 32,
    salt: bytes = b"salt",
) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(
        name=name, mechanism=mechanism, iterations=iterations, salt=salt, salted_password=salted_password
    )


def deletion(name: str, mechanism: int = 1) -> ScramCredentialDeletion:
    return ScramCredentialDeletion(name=name, mechanism=mechanism)


def altered(
    ask: Callable[..., Any],
    cluster: Cluster,
    upsertions: list[ScramCredentialUpsertion],
    deletions: list[ScramCredentialDeletion] | None = None,
) -> dict[str, int]:
    request = AlterUserScramCredentialsRequest(deletions=deletions or [], upsertions=upsertions)
    answer = ask(cluster, request, 0)
    has_text = {each.user: each.error_message is not None for each in answer.results}
    assert has_text == {each.user: each.error_code > 0 for each in answer.results}
    return {each.user: each.error_code for each in answer.results}


@pytest.mark.rules("SC-1")
def test_credentials_are_stored_without_the_password(ask: Callable[..., Any], cluster: Cluster) -> None:
    """Salt, iterations and two keys; the salted password itself is not there."""
    assert altered(ask, cluster, [upsertion("alice"), upsertion("bob", 2, 16384)]) == {"alice": 0, "bob": 0}

    alice, bob = cluster.credentials.scram_of("alice"), cluster.credentials.scram_of("bob")
    assert (list(alice), list(bob)) == ([SCRAM_SHA_256], [SCRAM_SHA_512])
    assert (alice[SCRAM_SHA_256].salt, bob[SCRAM_SHA_512].iterations) == (b"salt", 16384)
    assert b"x" * 32 not in alice[SCRAM_SHA_256]


@pytest.mark.rules("SC-3")
def test_a_user_named_twice_is_not_changed(ask: Callable[..., Any], cluster: Cluster) -> None:
    """By two upserts or an upsert and a deletion, of any mechanism; others in the request are."""
    altered(ask, cluster, [upsertion("c", 2)])
    codes = altered(
        ask, cluster, [upsertion("a"), upsertion("a", 2), upsertion("b"), upsertion("c")], [deletion("c", 2)]
    )

    assert codes == {"a": ErrorCode.DUPLICATE_RESOURCE, "b": 0, "c": ErrorCode.DUPLICATE_RESOURCE}
    assert cluster.credentials.users() == ["b", "c"]
    assert list(cluster.credentials.scram_of("c")) == [SCRAM_SHA_512]


@pytest.mark.rules("SC-3")
@pytest.mark.parametrize(
    ("upsertions", "deletions", "code"),
    [
        ([upsertion("a", iterations=1), upsertion("a")], [], ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ([upsertion("a"), upsertion("a", iterations=1)], [], ErrorCode.DUPLICATE_RESOURCE),
        ([upsertion("a")], [deletion("a")], ErrorCode.RESOURCE_NOT_FOUND),
        ([upsertion("a", salted_password=b""), upsertion("a")], [], ErrorCode.DUPLICATE_RESOURCE),
    ],
)
def test_of_a_user_named_twice_the_first_fault_counts(
    ask: Callable[..., Any],
    cluster: Cluster,
    upsertions: list[ScramCredentialUpsertion],
    deletions: list[ScramCredentialDeletion],
    code: int,
) -> None:
    """The deletions come first; whatever it is, nothing is stored."""
    assert altered(ask, cluster, upsertions, deletions) == {"a": code}
    assert cluster.credentials.users() == []


@pytest.mark.rules("SC-4")
@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (upsertion("a", iterations=4095), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion("a", iterations=16385), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion(""), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        (upsertion("a", 3), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        (upsertion("a", 0), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        (upsertion("a", salted_password=b""), ErrorCode.UNKNOWN_SERVER_ERROR),
        (upsertion("a", salt=bytes(MAX_SALT_BYTES + 1)), ErrorCode.UNACCEPTABLE_CREDENTIAL),
    ],
)
def test_what_cannot_be_is_refused(
    ask: Callable[..., Any], cluster: Cluster, bad: ScramCredentialUpsertion, code: int
) -> None:
    """Iterations out of bounds, no name, an unknown mechanism, no password, a long salt; the good one goes through."""
    assert altered(ask, cluster, [bad, upsertion("good")]) == {bad.name: code, "good": 0}
    assert cluster.credentials.users() == ["good"]


@pytest.mark.rules("SC-1")
def test_the_longest_salt_is_stored(ask: Callable[..., Any], cluster: Cluster) -> None:
    """Clients make 16 to 32 bytes; the bound is ours."""
    salt = bytes(MAX_SALT_BYTES)
    assert altered(ask, cluster, [upsertion("a", salt=salt)]) == {"a": 0}
    assert cluster.credentials.scram_of("a")[SCRAM_SHA_256].salt == salt


@pytest.mark.rules("SC-4")
def test_only_what_is_there_can_be_deleted(ask: Callable[..., Any], cluster: Cluster) -> None:
    """The mechanism counts; the last credential of a user takes the user along."""
    altered(ask, cluster, [upsertion("alice")])

    assert altered(ask, cluster, [], [deletion("alice", 2)]) == {"alice": ErrorCode.RESOURCE_NOT_FOUND}
    assert altered(ask, cluster, [], [deletion("alice", 9)]) == {"alice": ErrorCode.UNSUPPORTED_SASL_MECHANISM}
    assert altered(ask, cluster, [], [deletion("alice")]) == {"alice": 0}
    assert altered(ask, cluster, [], [deletion("alice")]) == {"alice": ErrorCode.RESOURCE_NOT_FOUND}
    assert cluster.credentials.users() == []
