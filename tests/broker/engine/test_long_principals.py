"""Names of clients may be long, as those of certificates and of the owners of tokens are: no request keeps a copy."""

from collections.abc import Callable

import pytest

from tests.support.engine import Client, SimEngine
from tests.support.kept_memory import kept_bytes
from tests.support.rights import AUTHORIZER, client_of

LENGTH, COUNT = 30_000, 50
FEW_NAMES = 5  # of so many connections, events and tables


def subscriptions(client: Client, number: int) -> None:
    client.ask("GetTelemetrySubscriptions", 0, client_instance_id=number.to_bytes(16, "big"))


def fetch_sessions(client: Client, _number: int) -> None:
    client.ask("Fetch", 12, session_id=0, session_epoch=0, topics=[])


def refusals(client: Client, number: int) -> None:
    client.ask("DeleteGroups", 2, groups_names=[f"g{number}"])


@pytest.mark.parametrize("send", [subscriptions, fetch_sessions, refusals])
def test_no_request_keeps_a_name(send: Callable[[Client, int], None]) -> None:
    """What many requests leave behind costs no more with a long name than with a short one, but for the name itself."""

    def kept(name: str) -> int:
        lab = SimEngine(AUTHORIZER)
        client = client_of(lab, name)
        for number in range(1, COUNT + 1):
            send(client, number)
        return kept_bytes(lab)

    assert kept("x" * LENGTH) - kept("x") < FEW_NAMES * LENGTH
