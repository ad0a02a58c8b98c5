"""Who may control a broker: callers on this host, or those with the token; never a page of another site."""

import re
from urllib.parse import quote

import pytest
from starlette.datastructures import URL
from starlette.requests import HTTPConnection
from starlette.routing import Route

from fakebroker.cli.http.admission import PublicRoute
from fakebroker.cli.http.saved_app import SavedApp
from tests.support.control import App, Client, asked, with_control

HOSTILE_HOSTS = (
    *(
        "localhost/page/?",
        "localhost/healthz?",
        "localhost/page/#",
        "x/page",
        "localhost\\page/",
        "[::1]/page/?",
        "[::1",
    ),
    *("evil@localhost", "localhost@evil", "localhost:8092/page/?", "/healthz?", "[evil]", "localhost:x"),
)
PUBLIC = {"/", "/page/{path:path}", "/healthz"}
# The page. The first is only for callers that ask for HTML; others need the token for what is at that path.
OF_ISOLATED_BROKERS = {"/brokers/{broker_id}", "/brokers/{broker_id}/", "/brokers/{broker_id}/page/{path:path}"}


def test_with_a_token_everything_but_health_needs_it() -> None:
    """401 without it and with another one."""

    async def test(control: Client) -> None:
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Basic s3cret"}):
            answer = await control.ask("GET", "/clock", headers=headers)
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert (await control.ask("GET", "/clock", headers={"authorization": "Bearer s3cret"})).status_code == 200
        assert await control.get("/healthz") == {"status": "ok"}

    with_control(test, token="s3cret")


def test_pages_of_other_sites_are_refused() -> None:
    """A page in a browser on this host can send requests here; its origin, or the name that it made up, tells."""

    async def test(control: Client) -> None:
        for headers in ({"origin": "https://evil.example"}, {"host": "evil.example"}, {"origin": "null"}):
            problem = await control.problem("POST", "/reset", headers=headers)
            assert problem["status"] == 403
        for host in ("localhost:8092", "127.0.0.1:8092", "[::1]:8092"):
            headers = {"host": host, "origin": f"http://{host}"}
            assert (await control.ask("GET", "/clock", headers=headers)).status_code == 200

    with_control(test)


def test_pages_of_other_sites_may_only_link_here() -> None:
    """A browser sends no origin for what a page embeds, but says that the page is of another site."""

    async def test(control: Client) -> None:
        for site, destination, status in (
            ("cross-site", "image", 403),
            ("cross-site", "iframe", 403),
            ("same-site", "script", 403),
            ("cross-site", "document", 200),
            ("same-origin", "empty", 200),
            ("none", "document", 200),
        ):
            headers = {"sec-fetch-site": site, "sec-fetch-dest": destination}
            answer = await control.ask("GET", "/clock", headers=headers)
            assert answer.status_code == status, headers
        form = {"sec-fetch-site": "cross-site", "sec-fetch-dest": "document"}  # and no Origin, as old browsers send it
        assert (await control.problem("POST", "/reset", headers=form))["status"] == 403

    with_control(test)


def path_of(route: Route) -> str:
    """A path that a route answers."""
    return re.sub(r"\{(\w+)(:\w+)?\}", lambda found: "1" if found[2] == ":int" else quote("a/b", safe=""), route.path)


def apps(control: Client, token: str | None) -> tuple[App, App]:
    """Both applications, with a token of their own."""
    return type(control.app)(control.broker, token), SavedApp([], "a file", token)


def test_every_route_but_the_public_ones_needs_the_token() -> None:
    """What needs none is named here; a new route needs it, and so does a path without a route."""

    async def test(control: Client) -> None:
        for app in apps(control, "s3cret"):
            public = {route.path for route in app.routes if isinstance(route, PublicRoute)}
            assert public == (PUBLIC if isinstance(app, SavedApp) else PUBLIC | OF_ISOLATED_BROKERS)
            for route in app.routes:
                for verb in ("GET", "POST", "DELETE", "BREW"):
                    status, _ = await asked(app, verb, path_of(route), {"host": "localhost"})
                    assert isinstance(route, PublicRoute) or status == 401, (verb, route.path)
            assert (await asked(app, "GET", "/none", {"host": "localhost"}))[0] == 401
            authorized = {"host": "localhost", "authorization": "Bearer s3cret"}
            assert (await asked(app, "GET", "/none", authorized))[0] == 404

    with_control(test)


@pytest.mark.parametrize("token", ["s3cret", None])
def test_no_host_header_makes_another_path_of_a_request(token: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every route refuses hosts that hold a path, also where Starlette puts URLs together as it did before 1.0.1."""
    old = property(lambda self: URL(f"http://{self.headers['host']}{self.scope['path']}"))
    monkeypatch.setattr(HTTPConnection, "url", old)

    async def test(control: Client) -> None:
        for app in apps(control, token):
            for route in app.routes:
                for host in HOSTILE_HOSTS:
                    status, problem = await asked(app, "DELETE", path_of(route), {"host": host})
                    assert (status, problem["type"].rpartition(":")[2]) == (400, "malformed-host"), (host, route.path)

    with_control(test)


def test_a_host_is_a_name_or_an_address_and_a_port() -> None:
    """Others are an error of the caller, and never one of the broker; so is an origin that is no URL."""

    async def test(control: Client) -> None:
        for headers, status in (
            ({"host": "[::1"}, 400),
            ({"host": "localhost", "origin": "http://[::1"}, 403),
            ({"host": "localhost", "origin": ""}, 403),
            ({"host": "localhost", "origin": "file://"}, 403),
            ({"host": "kafka_1.example:8092"}, 403),
            ({}, 403),
            ({"host": "[::1]:8092", "origin": "http://[::1]:8092"}, 200),
        ):
            assert (await asked(control.app, "GET", "/clock", headers))[0] == status, headers

    with_control(test)
