"""Requests to the HTTP door with what the standard library has."""

import json
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, Request, build_opener

import click

LONGEST_S = 86_400  # waits take as long as they are told to


class Door(NamedTuple):
    """Where a broker is controlled."""

    url: str
    token: str | None

    def ask(self, verb: str, path: str, given: Mapping[str, Any], has_body: bool, accept: str) -> tuple[str, str]:
        """The answer's media type and text. Raises CtlError for a problem and for a door that does not answer."""
        url, data = self.url.rstrip("/") + path, None
        headers = {"Accept": accept, **({"Authorization": f"Bearer {self.token}"} if self.token else {})}
        if has_body:
            data = json.dumps(given).encode()
            headers["Content-Type"] = "application/json"
        elif given:
            url += "?" + urlencode(given, doseq=True)
        try:
            request = Request(url, data, headers, method=verb)
            with build_opener(ProxyHandler({})).open(request, timeout=LONGEST_S) as answer:
                return answer.headers.get_content_type(), answer.read().decode()
        except HTTPError as error:
            raise CtlError(_problem(error), 1) from None
        except (URLError, OSError, HTTPException, ValueError) as error:
            raise CtlError(f"{self.url}: {getattr(error, 'reason', None) or error}", 3) from None


class CtlError(click.ClickException):
    """What went wrong. The exit status is 1 for what the broker refuses, 3 if there is no answer (2: wrong usage)."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.exit_code = status  # type: ignore[misc]  # click declares it for the class, and reads it of the object


def _problem(error: HTTPError) -> str:
    text = error.read().decode("utf-8", "replace")
    try:
        return str(json.loads(text)["detail"])
    except (ValueError, KeyError, TypeError):
        return f"{error.code} {error.reason}"
