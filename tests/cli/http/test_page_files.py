"""The files of the page: what is served, and what no browser may do with it."""

import asyncio
import re
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette

from fakebroker.cli.http.page_files import FOLDER, MEDIA_TYPES, PageFiles
from tests.support.control import Client, with_control


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A page of a few files, beside which there is one that is no business of any browser."""
    page = tmp_path / "page"
    (page / "vendor").mkdir(parents=True)
    (page / "index.html").write_text("<!doctype html>")
    (page / "main.js").write_text("export {}")
    (page / "vendor" / "LICENSE.txt").write_text("MIT")
    (page / "notes.py").write_text("secret")
    (page / ".hidden.js").write_text("secret")
    (tmp_path / "outside.js").write_text("secret")
    return page


def ask(files: PageFiles | Path, path: str, verb: str = "GET", **headers: str) -> httpx.Response:
    """The answer to a browser."""
    files = files if isinstance(files, PageFiles) else PageFiles(files)

    async def answer() -> httpx.Response:
        transport = httpx.ASGITransport(Starlette(routes=list(files.routes())))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            return await http.request(verb, path, headers=headers)

    return asyncio.run(answer())


def test_files_have_their_types(folder: Path) -> None:
    """A browser runs only what is said to be a script, so each file says what it is."""
    found = {path: ask(folder, path) for path in ("/", "/page/main.js", "/page/vendor/LICENSE.txt")}

    assert {path: (answer.status_code, answer.headers["content-type"]) for path, answer in found.items()} == {
        "/": (200, "text/html; charset=utf-8"),
        "/page/main.js": (200, "text/javascript; charset=utf-8"),
        "/page/vendor/LICENSE.txt": (200, "text/plain; charset=utf-8"),
    }
    assert found["/"].text == "<!doctype html>"
    assert all(answer.headers["x-content-type-options"] == "nosniff" for answer in found.values())


def test_nothing_else_is_served(folder: Path) -> None:
    """No path leads out of the folder, to a hidden file or to one of another type."""
    paths = ["..%2Foutside.js", "vendor/..%2F..%2Foutside.js", "%2E%2E/outside.js", ".hidden.js", "notes.py", "vendor"]
    paths += ["", "nothing.js", "/etc/passwd", "main.js%00", "main.js/"]

    for path in paths:
        answer = ask(folder, f"/page/{path}")
        assert (answer.status_code, "secret" in answer.text) == (404, False), path


def test_what_a_browser_has_is_not_sent_again(folder: Path) -> None:
    """304 for the tag of what is there, the whole again once it has changed."""
    first = ask(folder, "/page/main.js")
    again = ask(folder, "/page/main.js", **{"If-None-Match": f'"other", W/{first.headers["etag"]}'})
    (folder / "main.js").write_text("export { another }")
    changed = ask(folder, "/page/main.js", **{"If-None-Match": first.headers["etag"]})

    assert (again.status_code, again.content) == (304, b"")
    assert (changed.status_code, changed.text) == (200, "export { another }")


def test_a_file_that_changed_is_read_again(folder: Path) -> None:
    """Whoever works on the page sees it at the next reload."""
    files = PageFiles(folder)
    before = ask(files, "/page/main.js")
    (folder / "main.js").write_text("export { another }")
    after = ask(files, "/page/main.js")

    assert (before.text, after.text) == ("export {}", "export { another }")


def test_only_reading(folder: Path) -> None:
    """Files take GET and HEAD."""
    assert ask(folder, "/", "HEAD").status_code == 200
    assert ask(folder, "/", "POST").status_code == 405


def test_scripts_only_from_files(folder: Path) -> None:
    """The policy allows no inline script, no eval, no other host, no frame around the page, no markup from text."""
    policy = ask(folder, "/").headers["content-security-policy"]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))

    assert rules["default-src"] == "'none'"
    assert {rules[name] for name in ("script-src", "style-src", "connect-src", "font-src")} == {"'self'"}
    assert {rules[name] for name in ("base-uri", "form-action", "frame-ancestors")} == {"'none'"}
    assert rules["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in policy
    assert "http" not in policy


def test_the_files_need_no_token_and_the_data_does() -> None:
    """A browser sends no token for what stands in its address bar; the page has to ask for one."""

    async def test(control: Client) -> None:
        for path in ("/", "/page/nothing.js"):
            assert (await control.ask("GET", path)).status_code in (200, 404)
        for path in ("/clock", "/journal/brief", "/page", "//page/x", "/page/../clock"):
            assert (await control.ask("GET", path)).status_code == 401, path

    with_control(test, token="s3cret")


def test_an_isolated_broker_has_the_page_at_its_own_path() -> None:
    """A browser is led to the slash that relative links need, without a token; programs get the broker as before."""

    async def test(control: Client) -> None:
        authorization = {"authorization": "Bearer s3cret"}
        added = (await control.ask("POST", "/brokers", {}, headers=authorization)).json()
        path = f"/brokers/{added['broker_id']}"
        led = await control.ask("GET", path, headers={"accept": "text/html,*/*;q=0.8"})
        assert (led.status_code, led.headers["location"], led.headers["vary"]) == (307, "./b1/", "Accept")
        for each in ("/", "/page/main.js"):
            assert (await control.ask("GET", path + each)).content == (await control.ask("GET", each)).content
        assert (await control.ask("GET", path)).status_code == 401
        assert (await control.ask("GET", path, headers=authorization)).json() == added
        assert (await control.ask("DELETE", path, headers={"accept": "text/html", **authorization})).status_code == 204

    with_control(test, token="s3cret")


def test_the_index_links_to_nothing_by_an_absolute_path() -> None:
    """The page works below any path: that of an isolated broker, or one that a proxy puts in front."""
    assert re.findall(r'(?:src|href)="/[^"]*"', (FOLDER / "index.html").read_text()) == []
    written = [path for path in FOLDER.rglob("*.js") if "vendor" not in path.parts]
    assert [path.name for path in written if re.search(r'(?:src|href)="/', path.read_text())] == []


def test_pages_of_other_sites_get_nothing() -> None:
    """Not even the page: a name that leads to this host is refused with it."""

    async def test(control: Client) -> None:
        for headers in ({"origin": "https://evil.example"}, {"host": "evil.example"}):
            assert (await control.ask("GET", "/", headers=headers)).status_code == 403

    with_control(test)


def test_every_file_of_the_page_is_of_a_known_type() -> None:
    """What is in the folder is served; nothing of it names another host."""
    files = [path for path in FOLDER.rglob("*") if path.is_file()]

    assert [path for path in files if path.suffix not in MEDIA_TYPES] == []
    scripts = [path for path in files if path.suffix in (".html", ".css") and "vendor" not in path.parts]
    assert [
        path for path in scripts if re.search(r"(?:src|href)=\"(?:https?:)?//|@import|url\(", path.read_text())
    ] == []
