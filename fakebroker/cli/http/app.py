"""The HTTP API as an ASGI application: all operations, for the served broker and under /brokers/{broker_id}."""

import logging
from collections.abc import Iterable

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from fakebroker.cli.http.admission import AdmittedRoutes, PublicRoute
from fakebroker.cli.http.brokers import Brokers
from fakebroker.cli.http.endpoint import Endpoint, only_query, while_connected
from fakebroker.cli.http.extra import Extra, Served
from fakebroker.cli.http.extras import EXTRAS
from fakebroker.cli.http.operations import OPERATIONS
from fakebroker.cli.http.page_files import PageFiles
from fakebroker.cli.http.problems import Problem, problem_of
from fakebroker.protocol.errors import CloseConnection
from fakebroker.testing.broker import AsyncFakeBroker

PREFIX = "/brokers/{broker_id}"

log = logging.getLogger("fakebroker")


class ControlApp:
    """The application for one served broker, and the isolated brokers that are made through it."""

    def __init__(self, broker: AsyncFakeBroker, token: str | None = None, *, has_host_access: bool = False) -> None:
        """`token` is what callers have to show (`Authorization: Bearer ...`); None lets everyone on this host in.

        With a token or `has_host_access` the brokers that callers make may use files and ports of this machine. Without
        them no broker, this one included, reads files and addresses that its clients name from now on.
        """
        self.brokers = Brokers(broker)
        self.served = Served(broker, self.brokers, has_host_access=has_host_access or token is not None)
        if not self.served.has_host_access:
            broker._limit_host_reads()
        self._admitted = AdmittedRoutes(self._routes(), token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._admitted(scope, receive, send)

    @property
    def routes(self) -> tuple[Route, ...]:
        """All routes, in the order in which they are tried."""
        return self._admitted.routes

    async def close(self) -> None:
        """End the streams and the scenarios, and stop the isolated brokers."""
        self.served.is_closing = True
        await self.served.plays.close()
        await self.brokers.close()

    def _routes(self) -> Iterable[Route]:
        paths: dict[str, dict[str, Endpoint | Extra]] = {}
        for row in OPERATIONS:
            paths.setdefault(row.path, {})[row.verb] = Endpoint(row)
        for extra in EXTRAS:
            paths.setdefault(extra.path, {})[extra.verb] = extra
        files = PageFiles()
        yield from files.routes()
        yield from files.routes_of_isolated_brokers()
        # Words come before placeholders, so that /topics/{name} does not take what has a row of its own.
        for path in sorted(paths, key=lambda path: [(part[:1] == "{", part) for part in path.split("/")]):
            verbs = paths[path]
            is_public = all(isinstance(each, Extra) and each.is_public for each in verbs.values())
            yield (PublicRoute if is_public else Route)(path, _Path(self.served, verbs))
            if own := {verb: each for verb, each in verbs.items() if isinstance(each, Endpoint) or each.of_broker}:
                yield Route(PREFIX + path, _Path(self.served, own))


class _Path:
    """What a path takes, by method."""

    def __init__(self, served: Served, verbs: dict[str, Endpoint | Extra]) -> None:
        self._served = served
        self._verbs = verbs

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        with self._served.brokers.in_use(request.path_params.get("broker_id")):
            response = await self._answer(request)
            await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        try:
            takes = self._verbs.get("GET" if request.method == "HEAD" else request.method)
            if takes is None:
                allowed = ", ".join(self._verbs)
                problem = Problem(
                    405, "method-not-allowed", f"{request.scope['path']} takes {allowed}, not {request.method}"
                )
                raise problem.with_headers(Allow=allowed)
            if isinstance(takes, Endpoint):
                broker = self._served.broker_of(request)
                if takes.operation.power == "reset":
                    await self._served.plays.end_on(broker)  # it would go on in the next test
                if takes.operation.power == "add_node":
                    self._served.brokers.check_room(1)
                response = await takes.answer(broker, request)
                if takes.operation.power == "reset":
                    self._served.brokers.leftovers.add()
                return response
            only_query(request, takes.query)
            answer = takes.function(self._served, request)
            return await (answer if takes.verb != "GET" else while_connected(answer, request))
        except CloseConnection:
            raise
        except ClientDisconnect:
            log.debug("%s %s: the client disconnected", request.method, request.scope["path"])
            return Response(status_code=400)  # it is never read
        except Exception as error:
            problem = problem_of(error)
            if problem.status == 500:
                log.error("%s %s failed", request.method, request.scope["path"], exc_info=error)
            return problem.response()
