"""Requests to the HTTP API with the standard library."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPException
from typing import Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import ProxyHandler, Request, build_opener

from fakebroker.cli.exit_status import CommandError, ExitStatus

LONGEST_S = 86_400  # waits take as long as asked


class ControlClient(NamedTuple):
    """Where a broker is controlled."""

    url: str
    token: str | None
    broker_id: str | None = None

    def path(self, path: str, of_broker: bool) -> str:
        """The path for the isolated broker, if there is one and the path has a form for it."""
        return f"/brokers/{quote(self.broker_id, safe='')}{path}" if self.broker_id and of_broker else path

    def ask(self, verb: str, path: str, given: Mapping[str, Any], has_body: bool, accept: str) -> tuple[str, str]:
        """The answer's media type and text. Raises CommandError for a problem, and if nothing answers."""
        if not has_body and given:
            path += "?" + urlencode(given, doseq=True)
        sent = ("application/json", json.dumps(given).encode()) if has_body else None
        media_type, data = self.send(verb, path, sent, accept)
        return media_type, data.decode()

    def send(self, verb: str, path: str, body: tuple[str, bytes] | None, accept: str = "*/*") -> tuple[str, bytes]:
        """The media type and the bytes of the answer to a body of some media type. Raises as `ask`."""
        with self._reached(), self._open(verb, path, body, accept) as answer:
            return answer.headers.get_content_type(), answer.read()

    def lines(self, path: str, given: Mapping[str, Any]) -> Iterator[str]:
        """The lines of an answer that has no end, as they come. Raises as `ask`."""
        with self._reached():
            answer = self._open("GET", path + ("?" + urlencode(given) if given else ""), None, "text/event-stream")
        with answer:
            while True:
                with self._reached():
                    line: bytes = answer.readline()
                if not line:
                    return
                yield line.decode().rstrip("\n")

    def _open(self, verb: str, path: str, body: tuple[str, bytes] | None, accept: str) -> Any:
        headers = {"Accept": accept, **({"Authorization": f"Bearer {self.token}"} if self.token else {})}
        if body:
            headers["Content-Type"] = body[0]
        request = Request(self.url.rstrip("/") + path, body[1] if body else None, headers, method=verb)
        return build_opener(ProxyHandler({})).open(request, timeout=LONGEST_S)

    @contextmanager
    def _reached(self) -> Iterator[None]:
        try:
            yield
        except HTTPError as error:
            with error:
                refused = _refused(error)
            raise refused from None
        except (URLError, OSError, HTTPException, ValueError) as error:
            why = getattr(error, "reason", None) or error
            raise CommandError(f"no broker answers at {self.url}: {why}", ExitStatus.UNAVAILABLE) from None


def _refused(error: HTTPError) -> CommandError:
    """The end of a command that the broker refuses."""
    if error.code == HTTPStatus.UNAUTHORIZED:
        wrong = "the token is missing or wrong: give --token or FAKEBROKER_CONTROL_TOKEN"
        return CommandError(wrong, ExitStatus.BAD_INPUT)
    return CommandError(_problem(error), ExitStatus.FAILED)


def _problem(error: HTTPError) -> str:
    text = error.read().decode("utf-8", "replace")
    try:
        return str(json.loads(text)["detail"])
    except (ValueError, KeyError, TypeError):
        return f"{error.code} {error.reason}"
