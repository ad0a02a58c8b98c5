"""The happenings of one play, in the order in which they happen: requests, answers, events of the broker, steps."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from fakebroker.broker.engine.journal import Event, Recorded
from fakebroker.client.connection import Pending
from fakebroker.protocol.schema import Message
from fakebroker.protocol.wire.registry import api
from fakebroker.scenarios.happenings import BrokerEvent, Happening, Json, Received, Sent
from fakebroker.scenarios.playing.answer_views import message_json
from fakebroker.testing.exchanges.redaction import without_secrets

if TYPE_CHECKING:
    from fakebroker.broker.engine.engine import Engine
    from fakebroker.scenarios.playing.worlds import World

NO_ACKS = "with acks 0 there is no answer"


class HappeningLog:
    """Collects happenings, and tells each to `on_happening` at once."""

    def __init__(self, world: "World", on_happening: Callable[[Happening], None] | None = None) -> None:
        self.happenings: list[Happening] = []
        self._world = world
        self._on_happening = on_happening
        self._requests = 0
        self.begin()

    def begin(self) -> None:
        """The timeline begins: times count from now, and what the broker did before is left out."""
        self.start_wall_ms, self._began_mono_ms = self._world.wall_ms, self._world.driver.mono_ms
        self.first_seq = self._next_seq = self._world.broker.journal.next_seq if self._world.broker is not None else 0

    @property
    def at_ms(self) -> int:
        """The broker's time of day since the timeline began."""
        return self._world.wall_ms - self.start_wall_ms

    @property
    def passed_ms(self) -> int:
        """How long the timeline has taken, by the clock of timers."""
        return self._world.driver.mono_ms - self._began_mono_ms

    def add(self, happening: Happening) -> None:
        """Something happened, after what the broker has done so far."""
        self.take_events()
        self._add(happening)

    def take_events(self) -> None:
        """Note what the broker's journal has that is new."""
        broker = self._world.broker
        if broker is None:
            return
        # In virtual time without a call: it is asked in the middle of a delivery, when no client may go on.
        is_virtual = self._world.poll_ms is None
        new = self._new_events(broker._engine) if is_virtual else broker._call(lambda: self._new_events(broker._engine))
        for recorded in new:
            self._add(BrokerEvent(recorded.at.wall_ms - self.start_wall_ms, recorded.event))

    def _new_events(self, engine: "Engine") -> list[Recorded[Event]]:
        journal = engine.journal
        since, self._next_seq = self._next_seq, journal.next_seq
        if since == self._next_seq:
            return []
        return [each for each in journal.kept(since) if isinstance(each, Recorded)]

    def watch(self, actor: str) -> "ActorWatch":
        """What notes the requests of an actor."""
        return ActorWatch(self, self._world, actor)

    def next_number(self) -> int:
        """The number of the next request."""
        self._requests += 1
        return self._requests

    def _add(self, happening: Happening) -> None:
        self.happenings.append(happening)
        if self._on_happening is not None:
            self._on_happening(happening)


class ActorWatch:
    """Notes every request of an actor's connections with its answer."""

    shows_handshakes = False  # whether the question for versions, which a client asks by itself, is noted, too

    def __init__(self, log: HappeningLog, world: "World", actor: str) -> None:
        self._is_quiet = False
        self._log = log
        self._world = world
        self._actor = actor
        self._sent: dict[Pending, tuple[int, int]] = {}  # its number, and when it was sent

    def sent(self, pending: Pending, request: Message | None) -> None:
        """A request is sent; None for bytes that were sent as they are."""
        if self._is_quiet or (request is not None and self._is_handshake(request)):
            return
        number = self._log.next_number()
        self._sent[pending] = (number, self._world.driver.mono_ms)
        shown: Json = None if request is None else message_json(without_secrets(request), pending.version)
        self._log.add(Sent(self._log.at_ms, self._actor, api(pending.api_key).name, pending.version, shown, number))

    def ended(self, pending: Pending) -> None:
        """It was answered, or will not be."""
        number, sent_ms = self._sent.pop(pending, (0, 0))
        if not number:
            return
        response = pending.response
        shown: Json = None if response is None else message_json(without_secrets(response), pending.version)
        why = None
        if pending.response is None:
            why = NO_ACKS if pending.error is None else str(pending.error)
        waited_ms = self._world.driver.mono_ms - sent_ms
        name = api(pending.api_key).name
        self._log.add(Received(self._log.at_ms, self._actor, name, pending.version, shown, number, waited_ms, why))

    def be_quiet(self) -> None:
        """Note nothing from now on."""
        self._is_quiet = True
        self._sent.clear()

    def _is_handshake(self, request: Message) -> bool:
        return not self.shows_handshakes and api(request.api_key).name == "ApiVersions"
