"""What stands in the place of a connection that has gone."""

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from fakebroker.apis.call import Call, Steps
from fakebroker.engine.work import Work
from fakebroker.errors import CloseConnection, KafkaError
from fakebroker.instant import Instant

if TYPE_CHECKING:
    from fakebroker.engine.engine import Engine
    from fakebroker.schema import Message


class Gone:
    """In the place of a closed connection, and of whatever drove it: what is asked of it has no effect.

    Only work that must be finished goes on: a request that was taken up as a whole is done, as in Kafka.
    """

    __slots__ = ("_engine",)
    is_gone = True

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine

    def carry(self) -> None:
        """There is nothing to carry."""

    def answer(self, call: Call, _response: "Message | None") -> None:
        """Nobody is there to read it."""
        call.is_answered = True

    def watch(self, _call: Call, _callback: Callable[[Instant], None]) -> None:
        """It has gone already, and who had asked before was told."""

    def work(self, call: Call, steps: Steps[Any], must_finish: bool) -> None:
        """Nobody waits for what the steps would give."""
        if must_finish:
            self._engine.begin(Work(self, call, self._to_the_end(steps), must_finish))
        else:
            steps.close()

    def _to_the_end(self, steps: Steps[Any]) -> Generator[None, None, None]:
        try:
            yield from steps
        except (CloseConnection, KafkaError):
            return
        except Exception as error:
            self._engine.failed(error)

    def fail(self, _reason: str) -> None:
        """It is closed."""

    def not_served(self, _call: Call, _what: str) -> None:
        """It waits for nothing any more."""

    def looked_up(self, _call: Call, _group_id: str) -> None:
        """It will not ask that coordinator."""

    def address_of(self, _node_id: int) -> None:
        """A client that has gone reaches nothing."""
