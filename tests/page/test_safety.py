"""What the page may do and what is done with names that clients make up."""

import contextlib
import json
import socket
import struct
import urllib.request

import pytest

from fakebroker.client.scripted.scripted_client import ScriptedClients
from tests.support.chromium import ShownPage
from tests.support.serving import controlled

pytestmark = [pytest.mark.page, pytest.mark.slow]
HOSTILE = "<script>window.hit = 1</script><img src=x onerror='window.hit = 1'>"


def test_names_of_clients_are_text_wherever_they_are_shown(shown: ShownPage, clients: ScriptedClients) -> None:
    """Group, client id, member, metadata, key, value, header and fault: shown as they are, and nothing of them runs."""
    client = clients.client(HOSTILE)
    client.join(HOSTILE, ["orders"])
    client.sync({client.member_id: {"orders": [0]}})
    client.commit({("orders", 0): 1}, metadata=HOSTILE)
    record = {"values": [HOSTILE], "key": HOSTILE, "headers": [[HOSTILE, HOSTILE]]}
    shown.ask("POST", "/topics/orders/records", record)
    shown.ask("POST", "/faults", {"client_id": HOSTILE, "error": "NOT_COORDINATOR"})
    client.heartbeat()
    page = shown.open("/groups")
    shown.sees(HOSTILE, ".list")
    page.locator(".list a.item").first.click()
    for where in (".head", ".members", "[aria-label='Committed offsets']"):
        shown.sees(HOSTILE, where)
    page.locator(".members a").first.click()
    shown.sees(HOSTILE, ".lanes .labels")
    page.locator(".entries a.entry").filter(has_text="JoinGroup").last.click()
    shown.sees(HOSTILE, ".panel")
    for fragment, where in (("/topics/orders", ".records"), ("/control", "[aria-label='Faults']")):
        shown.open(fragment)
        shown.sees(HOSTILE, where)
    shown.open(f"/groups/{HOSTILE}")
    assert page.evaluate("window.hit") is None
    assert page.locator("body script, body img[src=x]").count() == 0


def test_a_hostile_topic_in_a_request_is_text_too(shown: ShownPage, clients: ScriptedClients) -> None:
    """Kafka has no such topic, but the request that names it is in the journal."""
    clients.client("svc-1").metadata(topics=[HOSTILE])
    shown.open("/timeline?polls=1")
    shown.sees(HOSTILE[:20], ".entries")
    assert shown.page.evaluate("window.hit") is None


def test_only_the_files_of_the_page_run(shown: ShownPage) -> None:
    """The policy allows no script but them, nothing from elsewhere, no frame around it; nothing else was loaded."""
    asked: list[str] = []
    shown.page.on("request", lambda request: asked.append(request.url))
    shown.open("/timeline")
    shown.sees("live", "header")
    assert [url for url in asked if not url.startswith(shown.url)] == []
    with urllib.request.urlopen(shown.url) as answer:
        policy = answer.headers["Content-Security-Policy"]
    for part in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"):
        assert part in policy
    assert "unsafe" not in policy


def test_where_a_token_is_needed_the_page_asks_for_it(browser: object) -> None:
    """Without it nothing is shown; a wrong one is refused; the right one, also in the address, opens the page."""
    with controlled("--control-token", "s3cret", control="0.0.0.0:0") as line:
        url = line.partition(" ")[0].replace("0.0.0.0", "127.0.0.1")
        context = browser.new_context()  # type: ignore[attr-defined]
        shown = ShownPage(context, url)
        page = shown.open()
        page.get_by_label("Token").wait_for()
        page.wait_for_function("() => document.activeElement.name === 'token'")
        assert page.get_by_role("alert").count() == 0
        page.keyboard.type("wrong")
        page.keyboard.press("Enter")
        shown.sees("The broker refused that token", "[role=alert]")
        page.wait_for_function("() => document.activeElement.name === 'token'")
        page.keyboard.type("s3cret")
        page.keyboard.press("Enter")
        shown.sees("No groups have rebalanced")
        context.close()
        context = browser.new_context()  # type: ignore[attr-defined]
        shown = ShownPage(context, url)
        shown.open("token=s3cret")
        shown.sees("No groups have rebalanced")
        assert "s3cret" not in shown.page.url
        assert shown.complaints == []
        context.close()


def test_text_that_is_no_utf_8_does_not_stop_the_page(shown: ShownPage) -> None:
    """A client id of arbitrary bytes, sent as the first bytes of a connection."""
    host, _, port = shown.bootstrap.partition(":")
    client_id = bytes(range(128, 160))
    request = struct.pack(">hhih", 18, 0, 1, len(client_id)) + client_id
    with socket.create_connection((host, int(port)), 10) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        connection.settimeout(2)
        with contextlib.suppress(TimeoutError):
            connection.recv(100)
    shown.open("/timeline")
    shown.sees("live", "header")
    json.dumps(shown.ask("GET", "/journal/brief?since=0"))
