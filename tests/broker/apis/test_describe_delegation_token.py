"""DescribeDelegationToken for those who may ask, and those who may not."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.apis import describe_delegation_token
from fakebroker.broker.core.cluster import Cluster
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.create_delegation_token import CreatableRenewers
from fakebroker.protocol.wire.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from tests.support.frames import request
from tests.support.logins import lab_with_tokens, logged_in
from tests.support.turns_of_request import turns

ASKED: dict[str, Any] = {"owners": None}
HOUR_MS = 3_600_000


@pytest.mark.rules("TK-1")
@pytest.mark.parametrize("version", [1, 2, 3])
def test_nobody_has_tokens_without_a_login(ask: Callable[..., Any], cluster: Cluster, version: int) -> None:
    """DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, and nothing else in the answer."""
    answer = ask(cluster, DescribeDelegationTokenRequest(**ASKED), version)

    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert answer.tokens == []


@pytest.mark.rules("TK-1")
def test_without_a_secret_key_there_are_no_tokens() -> None:
    """DELEGATION_TOKEN_AUTH_DISABLED."""
    assert (
        logged_in(lab_with_tokens(key=None)).ask("DescribeDelegationToken", 2, **ASKED).error_code
        == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    )


@pytest.mark.rules("TK-4")
@pytest.mark.parametrize("version", [1, 2, 3])
def test_null_means_all_that_one_may_see(version: int) -> None:
    """An empty list and strangers mean none; tokens that expired an hour ago are gone."""
    lab = lab_with_tokens()
    client = logged_in(lab)
    client.ask("CreateDelegationToken", 3, renewers=[], max_lifetime_ms=1000)
    stranger = DescribeDelegationTokenOwner(principal_type="User", principal_name="carol")

    seen = [client.ask("DescribeDelegationToken", version, owners=owners).tokens for owners in (None, [], [stranger])]
    assert [[token.principal_name for token in tokens] for tokens in seen] == [["alice"], [], []]
    lab.network.advance(1000 + HOUR_MS - 1)
    assert client.ask("DescribeDelegationToken", version, owners=None).tokens == seen[0]
    lab.network.advance(1)
    assert client.ask("DescribeDelegationToken", version, owners=None).tokens == []


def test_others_are_served_while_many_tokens_are_described(monkeypatch: pytest.MonkeyPatch) -> None:
    """A token may have thousands of renewers: the answer is made in steps, and has all of them."""
    monkeypatch.setattr(describe_delegation_token, "RENEWERS_PER_STEP", 1)
    lab = lab_with_tokens()
    client = logged_in(lab)
    renewers = [CreatableRenewers(principal_type="User", principal_name=f"carol{n}") for n in range(5)]
    for _ in range(3):
        client.ask("CreateDelegationToken", 3, renewers=renewers, max_lifetime_ms=-1)
    begun: list[object] = []
    monkeypatch.setattr(
        lab.engine, "begin", lambda work: (begun.append(work), type(lab.engine).begin(lab.engine, work))
    )

    answer = client.ask("DescribeDelegationToken", 3, **ASKED)

    assert len(begun) == 1
    assert [len(token.renewers) for token in answer.tokens] == [5, 5, 5]


def test_others_are_served_while_many_owners_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request has room for millions."""
    monkeypatch.setattr(describe_delegation_token, "RENEWERS_PER_STEP", 1)
    lab = lab_with_tokens()
    client = logged_in(lab)
    owners = [DescribeDelegationTokenOwner(principal_type="User", principal_name=f"carol{n}") for n in range(20)]
    data = request("DescribeDelegationToken", 3, owners=owners)
    assert len([*turns(lab, client.socket.connection, data)]) > 9


@pytest.mark.rules("TK-4")
def test_whom_one_asks_for_may_also_have_requested_or_renew_a_token() -> None:
    """A token stands in the answer if one of the owners asked for owns it, requested it or may renew it."""
    client = logged_in(lab_with_tokens())
    renewers = [CreatableRenewers(principal_type="User", principal_name="carol")]
    client.ask("CreateDelegationToken", 3, renewers=renewers, max_lifetime_ms=-1)

    for name, count in (("alice", 1), ("carol", 1), ("dave", 0)):
        owners = [DescribeDelegationTokenOwner(principal_type="User", principal_name=name)]
        assert len(client.ask("DescribeDelegationToken", 3, owners=owners).tokens) == count


def test_renewers_are_shown_to_all_by_the_same_entries() -> None:
    """Forty clients that ask at once would have ten million of their own; of a token that ends nothing is left."""
    lab = lab_with_tokens()
    client = logged_in(lab)
    renewers = [CreatableRenewers(principal_type="User", principal_name="carol")]
    token = client.ask("CreateDelegationToken", 3, renewers=renewers, max_lifetime_ms=-1)
    tokens = lab.cluster.credentials.tokens

    client.ask("DescribeDelegationToken", 3, **ASKED)
    (made,) = tokens._described_renewers.values()
    client.ask("DescribeDelegationToken", 2, **ASKED)
    assert tokens._described_renewers[token.token_id] is made
    assert client.ask("ExpireDelegationToken", 2, hmac=token.hmac, expiry_time_period_ms=-1).error_code == 0
    assert tokens._described_renewers == {}
