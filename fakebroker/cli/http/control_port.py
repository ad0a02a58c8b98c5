"""`fakebroker serve --control`: the address, its token, and what of the rest is loaded when."""

import secrets
from importlib.util import find_spec
from ipaddress import ip_address
from typing import TYPE_CHECKING

from fakebroker.protocol.extras import missing_extra
from fakebroker.protocol.listeners import Listener
from fakebroker.serve.listener_options import address_text, parse_address, with_host
from fakebroker.serve.net.ports import Ports

if TYPE_CHECKING:
    from fakebroker.cli.http.server import ControlServer, ServedApp
    from fakebroker.scenarios.running.background import BackgroundPlay
    from fakebroker.scenarios.running.from_thread import FromThread
    from fakebroker.testing.broker import AsyncFakeBroker

NEEDS = ("prometheus_client", "pydantic", "starlette", "uvicorn")


class ControlPort:
    """Where a broker is controlled by HTTP. Its port is bound at once, so that callers who are early wait."""

    def __init__(
        self, address: str, token: str | None, option: str = "control", *, has_host_access: bool = False
    ) -> None:
        """`address` is [HOST:]PORT. A port that is open to other hosts has a token, a new one if `token` is None.

        `option` is what it was given as, for messages. `has_host_access`: see cli/http/host_access.py.

        Raises MissingExtra without the extra, InvalidArgument for a bad address, OSError for a port that is taken.
        """
        missing = [name for name in NEEDS if find_spec(name) is None]
        if missing:
            names = ", ".join(missing)
            raise missing_extra("control", f"--{option} needs {names}")
        host, port = parse_address(with_host(address), option)
        self._listener = Listener(1, host, port)
        self._ports = Ports([self._listener])
        self._ports.bind()
        self._is_made = not token and not is_loopback(host)
        self.token = secrets.token_urlsafe(16) if self._is_made else token or None
        self._has_host_access = has_host_access
        self._server: ControlServer

    @property
    def address(self) -> str:
        """Its URL for people, with the token if that was made here."""
        made = f" with the token {self.token}" if self._is_made else ""
        return f"http://{address_text(self._listener)}{made}"

    @property
    def page(self) -> str:
        """The URL of the page for a browser on this host. A token that was made here is its fragment, which browsers do
        not send; the page asks for one that it does not know.
        """
        return f"http://{address_text(self._listener)}/" + (f"#token={self.token}" if self._is_made else "")

    async def open(self, broker: "AsyncFakeBroker", play: "tuple[BackgroundPlay, FromThread] | None" = None) -> None:
        """Serve in the running loop; `play` is the scenario that is played on the broker already, if there is one."""
        from fakebroker.cli.http.app import ControlApp

        app = ControlApp(broker, self.token, has_host_access=self._has_host_access)
        if play is not None:
            app.served.plays.add(*play)
        await self.serve(app)

    async def serve(self, app: "ServedApp") -> None:
        """Serve an application in the running loop."""
        from fakebroker.cli.http.server import ControlServer

        self._server = ControlServer(app, self._ports)
        await self._server.start()

    async def close(self) -> None:
        """Close the port, and stop the brokers that were made through it."""
        await self._server.stop()


def is_loopback(host: str) -> bool:
    """Whether only this host can reach it."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
