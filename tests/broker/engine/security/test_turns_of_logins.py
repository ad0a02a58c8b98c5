"""Turns of a client that logs in end as those of one that has: by the number of its frames, and by the stopwatch."""

from collections.abc import Callable, Iterator
from itertools import count
from struct import pack

import pytest

from fakebroker.broker.engine.connection import REQUESTS_PER_TURN, Connection
from fakebroker.protocol.wire.messages.metadata import MetadataRequestTopic
from tests.support.engine import Client, SimEngine
from tests.support.frames import framed, frames, request
from tests.support.logins import WRONG, lab_with_sasl, logged_in, shaken
from tests.support.turns_of_request import turns

FRAMES = 1000
VERSIONS_99 = framed(pack(">hhihb", 18, 99, 1, -1, 0))
BAD_TOKEN = framed(b"n,,\x01auth=Bearer a\x01\x01")


def begins(lab: SimEngine) -> Client:
    return lab.client()


def has_chosen_tokens(lab: SimEngine) -> Client:
    return shaken(lab, "OAUTHBEARER", 0)


# What may come in any number, and in which state of a login.
ENDLESS = pytest.mark.parametrize(
    ("prepare", "frame"), [(begins, VERSIONS_99), (has_chosen_tokens, BAD_TOKEN), (logged_in, VERSIONS_99)]
)


def answers_by_turn(lab: SimEngine, connection: Connection, data: bytes) -> Iterator[int]:
    """How many answers each turn makes."""
    connection.receive(data, lab.network.now)
    yield len(frames(b"".join(connection.data_to_send())))
    while connection.wants_turn:
        connection.resume(lab.network.now)
        yield len(frames(b"".join(connection.data_to_send())))


@ENDLESS
def test_a_turn_has_so_many_frames(prepare: Callable[[SimEngine], Client], frame: bytes) -> None:
    """Others are served in between; each frame gets its answer in the end."""
    lab = lab_with_sasl()
    found = [*answers_by_turn(lab, prepare(lab).socket.connection, frame * FRAMES)]

    assert max(found) <= REQUESTS_PER_TURN
    assert sum(found) == FRAMES


@ENDLESS
def test_a_turn_ends_by_the_stopwatch(prepare: Callable[[SimEngine], Client], frame: bytes) -> None:
    """While other clients wait each turn takes a frame or two: a token may be compared with many keys."""
    lab = lab_with_sasl()
    connection = prepare(lab).socket.connection
    lab.engine.turn_s, seconds = 0, count(1)
    lab.cluster.timers.passes.stopwatch = lambda: next(seconds)

    assert max(answers_by_turn(lab, connection, frame * 100)) <= 2


def test_frames_behind_a_refused_login_do_not_make_turns_longer() -> None:
    """Nobody reads them; they are passed over all the same."""
    lab = lab_with_sasl()
    connection = shaken(lab, version=0).socket.connection

    assert [*answers_by_turn(lab, connection, framed(WRONG) + framed(b"") * FRAMES)] == [0] * -(
        -FRAMES // REQUESTS_PER_TURN
    )


@pytest.mark.parametrize("prepare", [begins, lambda lab: shaken(lab)])
def test_a_large_request_before_the_login_is_not_read(prepare: Callable[[SimEngine], Client]) -> None:
    """It would become fifty times its bytes, to be refused then."""
    lab = lab_with_sasl()
    found = request("Metadata", 8, topics=[MetadataRequestTopic(name="t")] * 3_000)
    [*turns(lab, prepare(lab).socket.connection, found)]  # what is imported and made once is not counted
    connection = prepare(lab).socket.connection
    assert max(turns(lab, connection, found)) < 500
    assert connection.close_reason == "Metadata v8: the client must log in first, with SaslHandshake"
