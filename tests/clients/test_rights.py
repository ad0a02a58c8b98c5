"""Real clients may do what their rights say, and changed rights act at once: here and with a real Kafka."""

from collections.abc import Callable, Iterator

import pytest

from tests.clients.every_client import EVERY_CLIENT, WORDS
from tests.clients.logins import Client, Login
from tests.clients.secured import (
    AUTHORIZER,
    BOTH_SERVERS,
    PASSWORDS,
    SASL_PLAINTEXT,
    SERVERS,
    SETTINGS,
    SecuredServer,
)
from tests.support.eventually import eventually

pytestmark = [
    pytest.mark.clients,
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore"),
]
Open = Callable[[str, Login], Client]
SILENT_S = 8  # until a reader that says nothing is taken for one that is refused
TURNS = 30  # of a reader, until it learns that it may read no more


@pytest.fixture(scope="module", params=BOTH_SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[SecuredServer]:
    """A broker where only those may do something whom an ACL allows it."""
    with SERVERS[request.param]({**SETTINGS, **AUTHORIZER}) as server:
        yield server


@pytest.fixture
def alice(server: SecuredServer, opened: Open) -> Callable[..., Client]:
    """Makes clients of a library that log in as alice, and may do nothing yet."""
    login = Login(server.addresses[SASL_PLAINTEXT], SASL_PLAINTEXT, "PLAIN", "alice", PASSWORDS["alice"])
    return lambda name, **more: opened(name, login._replace(**more))


@pytest.mark.behaviour("ACLs")
@pytest.mark.rules("AU-2", "AU-3", "AU-4", "AU-5", "AU-7")
@pytest.mark.parametrize("name", EVERY_CLIENT)
def test_a_right_to_write_comes_and_goes(server: SecuredServer, alice: Callable[..., Client], name: str) -> None:
    """The same producer is refused, served, refused by a wider denial, served again, and refused for good."""
    topic = server.create_topic(f"written-by-{name}")
    producer = alice(name)
    assert producer.send(topic) == WORDS[name].no_topic

    server.allow("alice", "write", topic=topic)
    eventually(lambda: producer.send(topic) == "")

    server.deny("alice", "all", topic=f"written-by-{name[:3]}", prefixed=True)
    eventually(lambda: producer.send(topic) == WORDS[name].no_topic)

    server.take_back("alice", "all", topic=f"written-by-{name[:3]}", prefixed=True)
    eventually(lambda: producer.send(topic) == "")

    server.take_back("alice", "write", topic=topic)
    eventually(lambda: producer.send(topic) == WORDS[name].no_topic)


@pytest.mark.behaviour("ACLs")
@pytest.mark.rules("AU-4", "AU-6")
@pytest.mark.parametrize("name", EVERY_CLIENT)
def test_a_member_needs_its_group_and_its_topic(server: SecuredServer, alice: Callable[..., Client], name: str) -> None:
    """Without the topic the error names that, without the group of that; with both it reads, until one is taken."""
    topic, group = server.create_topic(f"read-by-{name}"), f"group-of-{name}"
    server.admin.produce(topic, 0, ["first"])

    server.allow("alice", "read", group=group)
    eventually(lambda: read_once(alice(name, patience_s=SILENT_S), topic, group) == WORDS[name].unread)

    server.take_back("alice", "read", group=group)
    server.allow("alice", "read", topic=topic)
    eventually(lambda: read_once(alice(name), topic, group) == WORDS[name].no_group)

    server.allow("alice", "read", group=group)
    reader = alice(name)
    eventually(lambda: reader.read(topic, group) == "")

    server.take_back("alice", "read", topic=topic)
    assert WORDS[name].no_topic in outcomes(server, reader, topic, group)


def read_once(reader: Client, topic: str, group: str) -> str:
    """What a reader tells that then leaves the group, if it came so far."""
    outcome = reader.read(topic, group)
    reader.close()
    return outcome


def outcomes(server: SecuredServer, reader: Client, topic: str, group: str) -> Iterator[str]:
    """What a reader tells of one record after another: a fetch that waits was allowed when it came."""
    for _ in range(TURNS):
        server.admin.produce(topic, 0, ["more"])
        yield reader.read(topic, group)
