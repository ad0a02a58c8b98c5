"""The one way in which tests take an answer that may come later."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from fakebroker.broker.apis.call import Call

Answer = TypeVar("Answer")


class Parked(Generic[Answer]):
    """A request that was sent: `answer` is None while it is parked, `at_ms` says when it was answered."""

    def __init__(self, read_ms: Callable[[], int]) -> None:
        self._read_ms = read_ms
        self.answer: Answer | None = None
        self.at_ms: int | None = None

    def __call__(self, answer: Answer) -> None:
        assert self.is_parked, "answered twice"
        self.answer = answer
        self.at_ms = self._read_ms()

    def __getattr__(self, name: str) -> Any:
        """Fields of the answer, which must have come."""
        assert self.answer is not None, f"not answered yet, so there is no {name}"
        return getattr(self.answer, name)

    @property
    def is_parked(self) -> bool:
        return self.at_ms is None


class Sent(Parked[Any]):
    """A request that was given to its API's handler; the answer is read from bytes of its version, as a client would.

    `call` was made by `make_call`, `returned` is what the handler returned: None while it is parked.
    """

    def __init__(self, call: Call, response: Any, returned: Any) -> None:
        super().__init__(lambda: call.now.mono_ms)
        self.call = call
        self._response = response
        connection: Any = call.connection
        connection.on_answer = self._take
        for message in connection.replies if returned is None else [returned]:
            self._take(message)

    def _take(self, message: Any) -> None:
        version = self.call.version
        self(self._response.decode(message.encode(version), version)[0])
