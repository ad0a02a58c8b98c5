"""The HTTP side of an authority: its keys, and tokens for clients that show their id and secret (RFC 6749, 4.4)."""

import json
import threading
from base64 import b64decode
from binascii import Error as Base64Error
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote_plus

from fakebroker.testing.tokens import authority as authorities

if TYPE_CHECKING:
    from fakebroker.testing.tokens.authority import TokenAuthority

MAX_BODY_BYTES = 65_536


class AuthorityServer:
    """Listens on a free port of 127.0.0.1, in a thread of its own, until `stop`."""

    def __init__(self, authority: "TokenAuthority") -> None:
        class Handler(_Handler):
            owner = authority

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, name="fakebroker-authority", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """http://HOST:PORT."""
        return f"http://127.0.0.1:{self._http.server_port}"

    def stop(self) -> None:
        """Listen no longer; the thread has ended when this returns."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    owner: "TokenAuthority"
    protocol_version = "HTTP/1.1"
    timeout = 10  # of a client that says nothing

    def do_GET(self) -> None:
        """The keys."""
        if self.path.split("?")[0] == "/jwks":
            self._answer(200, self.owner.jwks())
        else:
            self._answer(404, {"error": "not_found"})

    def do_POST(self) -> None:
        """A token for a client that proves who it is."""
        form = self._form()
        if self.path.split("?")[0] != "/token" or form is None:
            self._answer(404 if form is not None else 400, {"error": "invalid_request"})
        elif form.get("grant_type") != "client_credentials":
            self._answer(400, {"error": "unsupported_grant_type"})
        elif (client_id := self._client_id(form)) is None:
            self._answer(401, {"error": "invalid_client"})
        else:
            token = self.owner.token(client_id, scope=form.get("scope", "kafka"))
            lifetime_s = authorities.LIFETIME_S
            self._answer(200, {"access_token": token, "token_type": "Bearer", "expires_in": lifetime_s})

    def log_message(self, *_about: Any) -> None:
        """Nothing is logged: there are secrets in requests."""

    def _form(self) -> dict[str, str] | None:
        length = self.headers.get("Content-Length", "0")
        if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
            self.close_connection = True
            return None
        text = self.rfile.read(int(length)).decode("utf-8", "replace")
        return {name: values[0] for name, values in parse_qs(text).items()}

    def _client_id(self, form: dict[str, str]) -> str | None:
        """Who the client is, if its secret is right; by HTTP Basic, or in the form."""
        name, secret = form.get("client_id", ""), form.get("client_secret", "")
        scheme, _, value = self.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "basic":
            try:
                pair = b64decode(value, validate=True).decode()
            except (Base64Error, UnicodeDecodeError):
                return None
            name, _, secret = (unquote_plus(part) for part in pair.partition(":"))
        clients = self.owner.clients
        is_right = clients is None or compare_digest(clients.get(name, "").encode(), secret.encode())
        return name if name and is_right and (clients is None or name in clients) else None

    def _answer(self, status: int, document: Any) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)
