"""CreateDelegationToken for those who may ask, and those who may not."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.apis.create_delegation_token import MAX_RENEWERS
from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.core.security import delegation_tokens
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.schema.runtime import MAX_STRING_BYTES
from fakebroker.protocol.wire.messages.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest
from tests.support.frames import request
from tests.support.logins import lab_with_sasl, lab_with_tokens, logged_in
from tests.support.turns_of_request import turns

AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
ASKED: dict[str, Any] = {"renewers": [], "max_lifetime_ms": -1}


@pytest.mark.rules("TK-1")
@pytest.mark.parametrize("version", [1, 2, 3])
def test_nobody_has_tokens_without_a_login(ask: Callable[..., Any], cluster: Cluster, version: int) -> None:
    """DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, and nothing else in the answer."""
    answer = ask(cluster, CreateDelegationTokenRequest(**ASKED), version)

    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert (answer.principal_name, answer.token_id, answer.hmac) == ("ANONYMOUS", "", b"")
    assert answer.issue_timestamp_ms == answer.expiry_timestamp_ms == answer.max_timestamp_ms == -1


@pytest.mark.rules("TK-1")
def test_without_a_secret_key_there_are_no_tokens() -> None:
    """DELEGATION_TOKEN_AUTH_DISABLED."""
    assert (
        logged_in(lab_with_tokens(key=None)).ask("CreateDelegationToken", 2, **ASKED).error_code
        == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    )


@pytest.mark.rules("TK-2")
def test_the_owner_is_the_requester_and_renewers_are_users() -> None:
    """The token is reported with its times; a renewer of another type than User is refused, with times of -1."""
    client = logged_in(lab_with_tokens())

    answer = client.ask("CreateDelegationToken", 3, **ASKED)
    assert (answer.error_code, answer.principal_name, answer.token_requester_principal_name) == (0, "alice", "alice")
    assert answer.expiry_timestamp_ms - answer.issue_timestamp_ms == 86_400_000
    assert len(answer.hmac) == 64

    group = CreatableRenewers(principal_type="Group", principal_name="bob")
    refused = client.ask("CreateDelegationToken", 3, renewers=[group], max_lifetime_ms=-1)
    assert (refused.error_code, refused.token_id, refused.issue_timestamp_ms) == (
        ErrorCode.INVALID_PRINCIPAL_TYPE,
        "",
        -1,
    )
    assert refused.principal_name == "alice"


@pytest.mark.rules("TK-2")
@pytest.mark.parametrize("version", [1, 2])
def test_older_versions_name_no_requester(version: int) -> None:
    """The fields came with v3."""
    answer = logged_in(lab_with_tokens()).ask("CreateDelegationToken", version, **ASKED)

    assert (answer.error_code, answer.principal_name) == (0, "alice")


@pytest.mark.rules("TK-2")
@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("User", ErrorCode.NONE),
        ("", ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED),
        ("Group", ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED),
        (None, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_an_owner_of_another_type_is_another(kind: str | None, code: ErrorCode) -> None:
    """None at all is an error of the broker's, in Kafka as well."""
    lab = lab_with_sasl(**{"delegation.token.secret.key": "key", "authorizer.class.name": AUTHORIZER})
    owner = {"owner_principal_type": kind, "owner_principal_name": "alice"}
    assert logged_in(lab).ask("CreateDelegationToken", 3, **ASKED | owner).error_code == code


LONGEST = MAX_STRING_BYTES - len("User:")


@pytest.mark.parametrize("field", ["owner", "renewer"])
@pytest.mark.parametrize(("name", "is_taken"), [("x" * LONGEST, True), ("x" * (LONGEST + 1), False)])
def test_a_principal_fits_into_a_record(field: str, name: str, is_taken: bool) -> None:
    """A name on the wire may be longer than "User:" and the name may be in the log of the metadata."""
    client = logged_in(lab_with_tokens())
    renewers = [CreatableRenewers(principal_type="User", principal_name=name)] if field == "renewer" else []
    owner = {"owner_principal_type": "User", "owner_principal_name": name} if field == "owner" else {}
    answer = client.ask("CreateDelegationToken", 3, **ASKED | {"renewers": renewers} | owner)
    assert (answer.error_code == 0, bool(answer.token_id)) == (is_taken, is_taken)
    assert answer.error_code in (0, ErrorCode.INVALID_REQUEST)


@pytest.mark.rules("TK-2")
@pytest.mark.parametrize(
    ("count", "length", "code"),
    [
        (MAX_RENEWERS, 3, ErrorCode.NONE),
        (MAX_RENEWERS + 1, 3, ErrorCode.INVALID_REQUEST),
        (1_000, 8_300, ErrorCode.NONE),
        (1_000, 8_400, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_a_token_has_so_many_renewers_and_fits_into_a_record(count: int, length: int, code: ErrorCode) -> None:
    """Kafka 4.3.1 takes 1,390,000 short ones, in 5 s; it cannot write a record of more than 8 MiB, either."""
    client = logged_in(lab_with_tokens())
    renewers = [CreatableRenewers(principal_type="User", principal_name="x" * length)] * count
    answer = client.ask("CreateDelegationToken", 3, **ASKED | {"renewers": renewers})
    assert (answer.error_code, bool(answer.token_id)) == (code, not code)


def test_renewers_that_are_too_many_are_not_looked_at() -> None:
    """Millions fit into a request: the turns that read them do nothing else."""
    lab = lab_with_tokens()
    client = logged_in(lab)
    one = CreatableRenewers(principal_type="User", principal_name="")
    costs = []
    for count in (2_000, 20_000, 80_000):  # the first loads and compiles things
        data = request("CreateDelegationToken", 3, renewers=[one] * count, max_lifetime_ms=-1)
        costs.append(max(turns(lab, client.socket.connection, data)))
    assert costs[2] - costs[1] < 60_000


@pytest.mark.rules("TK-2")
def test_all_tokens_together_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is full takes a token again as soon as one has gone, or has expired."""
    monkeypatch.setattr(delegation_tokens, "MAX_KEPT_BYTES", 12_000)
    lab = lab_with_tokens()
    client = logged_in(lab)
    renewers = [CreatableRenewers(principal_type="User", principal_name="x" * 1000)] * 3

    def create() -> Any:
        return client.ask("CreateDelegationToken", 3, renewers=renewers, max_lifetime_ms=1000)

    first, second, third = create(), create(), create()
    assert [each.error_code for each in (first, second, third)] == [0, 0, ErrorCode.INVALID_REQUEST]
    assert (third.token_id, third.issue_timestamp_ms) == ("", -1)
    assert client.ask("ExpireDelegationToken", 2, hmac=first.hmac, expiry_time_period_ms=-1).error_code == 0
    assert [create().error_code for _ in range(2)] == [0, ErrorCode.INVALID_REQUEST]
    lab.network.advance(1000)
    assert [create().error_code for _ in range(3)] == [0, 0, ErrorCode.INVALID_REQUEST]
