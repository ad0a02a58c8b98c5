"""`serve --control`: the address of the control server, its token, its end."""

import json
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

from tests.support.serving import controlled, warnings_in


def get(url: str, token: str | None = None) -> int:
    """The status of an answer."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_a_port_alone_is_on_loopback_without_a_token() -> None:
    """The second line says where."""
    with controlled() as url:
        assert url.startswith("http://127.0.0.1:")
        assert get(f"{url}/clock") == 200
        assert get(f"{url}/healthz") == 200


def test_a_body_of_two_lengths_is_refused_and_nothing_after_it_is_read() -> None:
    """A proxy may have gone by the other length: what it takes for a body is no further request here."""
    with controlled() as url:
        host, _, port = url.removeprefix("http://").partition(":")
        body = b"0\r\n\r\nGET /clock HTTP/1.1\r\nHost: localhost\r\n\r\n"
        lengths = b"Transfer-Encoding: chunked\r\nContent-Length: %d\r\n\r\n" % len(body)
        with socket.create_connection((host, int(port)), timeout=10) as caller:
            caller.sendall(b"POST /clock/freeze HTTP/1.1\r\nHost: localhost\r\n" + lengths + body)
            answer = b"".join(iter(lambda: caller.recv(4096), b""))
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert answer.count(b"HTTP/1.1") == 1
        assert get(f"{url}/clock") == 200


def test_a_stranger_that_speaks_tls_is_no_warning_of_a_test() -> None:
    """A client of another test that tries again may find its port to be that of this broker's plain listener."""
    with controlled() as url:
        with urllib.request.urlopen(f"{url}/about", timeout=10) as answer:
            host, _, port = json.load(answer)["bootstrap"].rpartition(":")
        with socket.create_connection((host, int(port)), timeout=10) as stranger:
            stranger.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
            assert stranger.recv(1) == b""


def test_a_client_that_sends_nonsense_is_a_warning_of_a_test() -> None:
    """Only TLS is a stranger's; the test fails whose client sent anything else that is no request."""
    assert warnings_in("WARNING closing the connection from x: this looks like HTTP\na INFO b\n") == [
        "WARNING closing the connection from x: this looks like HTTP"
    ]


def test_elsewhere_there_is_a_token() -> None:
    """The one that is given, or one that is made."""
    with controlled("--control-token", "s3cret", control="0.0.0.0:0") as url:
        assert [get(f"{url}/clock", token) for token in ("s3cret", "other", None)] == [200, 401, 401]
        assert get(f"{url}/healthz") == 200
    with controlled(control="0.0.0.0:0") as line:
        url, _, token = line.partition(" with the token ")
        assert [get(f"{url}/clock", given) for given in (token, None)] == [200, 401]


def test_bad_addresses_and_taken_ports_are_plain_errors() -> None:
    """One line; the status tells a taken port (3) from a malformed address (2)."""
    with controlled() as url:
        for address, status in ((url.removeprefix("http://"), 3), ("x:y", 2), ("70000", 2)):
            command = [sys.executable, "-m", "fakebroker", "serve", "--listen", "127.0.0.1:0", "--control", address]
            shown = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
            assert (shown.returncode, shown.stderr.count("\n")) == (status, 1), shown.stderr


def test_the_stop_ends_streams_waits_and_isolated_brokers() -> None:
    """A signal ends the process at once, whatever is under way."""
    with controlled() as url:
        body = json.dumps({"state": "Stable", "timeout_s": 600}).encode()
        headers = {"Content-Type": "application/json"}
        urllib.request.urlopen(urllib.request.Request(f"{url}/brokers", b"{}", headers), timeout=10).close()
        stream = urllib.request.urlopen(f"{url}/journal/stream", timeout=10)
        code = f"import urllib.request as u; u.urlopen(u.Request({url!r} + '/groups/g/wait', {body!r}, {headers!r}))"
        waiting = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
        began = time.monotonic()
    assert time.monotonic() - began < 20
    stream.close()
    waiting.wait(20)


def test_the_page_has_an_address_of_its_own() -> None:
    """The third line is for a browser on this host: with a token that was made, but never with one that was given."""
    made, given = (), ("--control-token", "s3cret")
    for options, expected in ((made, r"http://127\.0\.0\.1:\d+/#token=[\w-]+"), (given, r"http://127\.0\.0\.1:\d+/")):
        command = [sys.executable, "-m", "fakebroker", "serve", "--listen", "127.0.0.1:0", "--control", "0.0.0.0:0"]
        with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            lines = [process.stdout.readline() for _ in range(3)]
            process.terminate()
        assert re.fullmatch(rf"fakebroker page on {expected}\n", lines[2]), lines


def test_a_broker_that_nobody_controls_loads_nothing_of_it() -> None:
    """A broker serves clients and shows a group of theirs: no module of the control server or the page is loaded."""
    code = """if True:
        import sys
        from fakebroker import FakeBroker
        with FakeBroker() as broker:
            broker.create_topic("orders")
            member = broker.client("a")
            member.join("billing", ["orders"])
            assert broker.group("billing").members
        ours = [name for name in sys.modules if name.startswith("fakebroker.")]
        print(*ours)
    """
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    loaded = set(shown.stdout.split())

    assert "fakebroker.testing.handles.group" in loaded
    of_the_page = {"group_view", "rebalance_view", "group_rows", "topic_view", "entry_view", "waiting"}
    unwanted = {
        "fakebroker.testing.journal.brief",
        "fakebroker.testing.explanations.due_events",
        "fakebroker.testing.explanations.rule_texts",
    }
    unwanted |= {f"fakebroker.testing.handles.{name}" for name in of_the_page}
    assert sorted(loaded & unwanted) == []
    assert sorted(name for name in loaded if name.startswith(("fakebroker.cli.http", "fakebroker.cli.ctl"))) == []


def test_a_refused_caller_with_a_long_body_is_not_heard_to_its_end() -> None:
    """The answer comes, and the connection ends; a short body is read first, so that the caller sees the answer."""
    with controlled("--control-token", "s3cret") as url:
        host, _, port = url.removeprefix("http://").partition(":")
        head = b"POST /clock/freeze HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        for body, is_sent in ((b"1\r\nx\r\n" * 100 + b"0\r\n\r\n", True), (b"1\r\nx\r\n" * 10_000_000, False)):
            with socket.create_connection((host, int(port)), timeout=30) as caller:
                caller.sendall(head)
                assert sends_all(caller, body) is is_sent
                if is_sent:
                    answer = b"".join(iter(lambda: caller.recv(4096), b""))
                    assert answer.startswith(b"HTTP/1.1 401 ")
                    assert b"connection: close" in answer.lower()


def sends_all(caller: socket.socket, data: bytes) -> bool:
    """Whether all is sent before the other side closes."""
    try:
        caller.sendall(data)
    except ConnectionError:
        return False
    return True
