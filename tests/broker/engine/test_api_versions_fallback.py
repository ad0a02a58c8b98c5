"""ApiVersions on the wire: its header and its answer to versions that nobody knows (AV-5, AV-6)."""

from struct import pack

import pytest

from fakebroker.protocol.wire.messages.api_versions import ApiVersionsResponse
from tests.support.engine import SimEngine
from tests.support.frames import correlation_ids, framed, request
from tests.support.logins import lab_with_sasl


@pytest.mark.rules("AV-5")
@pytest.mark.parametrize("version", range(5))
def test_the_answer_has_the_old_header_in_every_version(version: int) -> None:
    """The body follows the correlation id at once, in flexible versions too."""
    client = SimEngine().client()
    client.socket.send(request("ApiVersions", version, 9, client_software_name="a", client_software_version="1"))
    frame = client.socket.take()[4:]
    answer, end = ApiVersionsResponse.decode(frame, version, 4)

    assert (frame[:4], answer.error_code, end) == (pack(">i", 9), 0, len(frame))
    assert 18 in {entry.api_key for entry in answer.api_keys}


@pytest.mark.rules("AV-6")
@pytest.mark.parametrize("version", [5, 99, 32767, -1, -32768])
@pytest.mark.parametrize("body", [b"", b"\x02", b"\x02a\x021\0"])
def test_a_version_we_do_not_have_is_answered_in_v0(version: int, body: bytes) -> None:
    """16 bytes, as Kafka 4.3.1: error 35, and the one entry that says what ApiVersions itself can; nothing closes."""
    client = SimEngine().client()
    client.socket.send(framed(pack(">hhih", 18, version, 7, -1) + b"\0" + body))
    assert client.socket.take() == framed(pack(">ihihhh", 7, 35, 1, 18, 0, 4))
    assert client.ask("ApiVersions", 4, client_software_name="a", client_software_version="1").error_code == 0


@pytest.mark.rules("AV-6")
def test_an_older_release_names_its_own_range() -> None:
    """Kafka 2.1 had ApiVersions up to v2."""
    client = SimEngine(as_release="2.1").client()
    client.socket.send(framed(pack(">hhih", 18, 3, 7, -1) + b"\0"))
    assert client.socket.take() == framed(pack(">ihihhh", 7, 35, 1, 18, 0, 2))


@pytest.mark.rules("AV-6")
@pytest.mark.parametrize("is_known", [False, True])
def test_a_header_without_tags_closes(is_known: bool) -> None:
    """The header of an unknown version is read as in v3 and later, so it must have the tagged section."""
    client = SimEngine().client()
    if is_known:  # a client that has said its name is not asked for it again
        client.socket.send(framed(pack(">hhih", 18, 0, 6, 1) + b"a"))
    client.socket.send(framed(pack(">hhih", 18, 99, 7, 1) + b"a"))
    assert "tagged section" in client.close_reason


@pytest.mark.rules("AV-8")
def test_it_may_be_asked_at_any_time_and_again() -> None:
    """Not only first, and pipelined as any other."""
    client = SimEngine().client()
    heartbeat = request("Heartbeat", 4, 1, group_id="g", generation_id=1, member_id="m")
    versions = request("ApiVersions", 0, 2)
    client.socket.send(heartbeat + versions + versions + heartbeat)
    assert correlation_ids(client.socket.take()) == [1, 2, 2, 1]


@pytest.mark.rules("AV-6")
@pytest.mark.parametrize("needs_login", [False, True])
def test_of_all_versions_that_nobody_knows_one_is_remembered(needs_login: bool) -> None:
    """A client can name 65,000 of them, before it has logged in, and each would stay for ever."""
    lab = lab_with_sasl() if needs_login else SimEngine()
    client = lab.client()
    dispatcher = lab.engine.dispatchers[0]
    for version in (*range(5, 50), *range(-50, 0), 7, 7, 8, 7):
        client.socket.send(framed(pack(">hhih", 18, version, 7, -1) + b"\0"))
        assert client.socket.take() == framed(pack(">ihihhh", 7, 35, 1, 18, 0, 4))
    assert max(len(dispatcher._plain), len(dispatcher.routes)) <= 1
