"""`fakebroker serve`: the line that says where, the options, the signals, plain errors."""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import cast

import pytest

from fakebroker import FakeBroker
from fakebroker.cli.exit_status import ExitStatus
from fakebroker.client.login import Credentials
from fakebroker.client.scripted.scripted_client import ScriptedClients
from fakebroker.client.scripted.tcp_driver import TcpDriver
from fakebroker.protocol.errors import ErrorCode
from tests.support.frames import JOIN, request

TIMEOUT_S = 30


@contextmanager
def serve(*options: str, end_with: int = signal.SIGTERM) -> Iterator[tuple[str, list[int], "Log"]]:
    """A broker in a process of its own: its first line, its ports, and what it logs (known after the end)."""
    command = [sys.executable, "-m", "fakebroker", "serve", *options]
    log = Log()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        line = process.stdout.readline().rstrip("\n")
        try:
            yield line, [int(port) for port in re.findall(r":(\d+)", line)], log
        finally:
            process.send_signal(end_with)
            _, log.text = process.communicate(timeout=TIMEOUT_S)
            log.status = process.returncode


class Log:
    """What a process left behind."""

    text = ""
    status = -1


def fail(*options: str) -> str:
    """What a serve that cannot be started says; it must be one line and a status of the table."""
    command = [sys.executable, "-m", "fakebroker", "serve", *options]
    run = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert run.returncode in (ExitStatus.BAD_INPUT, ExitStatus.UNAVAILABLE)
    assert run.stdout == ""
    return run.stderr.strip().splitlines()[-1]


def ask(port: int, data: bytes, host: str = "127.0.0.1") -> bytes:
    with socket.create_connection((host, port), timeout=TIMEOUT_S) as client:
        client.sendall(data)
        return client.recv(10_000)


def ask_early(port: int, data: bytes) -> bytes:
    """As `ask`, of a broker that may not have its port yet."""
    end = time.monotonic() + TIMEOUT_S
    while True:
        try:
            return ask(port, data)
        except ConnectionRefusedError:
            assert time.monotonic() < end


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_broker_until_a_signal(number: int) -> None:
    """The first line says where; it serves; a signal ends it with status 0 and without complaint."""
    with serve("--listen", "127.0.0.1:0", end_with=number) as (line, ports, log):
        assert re.fullmatch(r"fakebroker listening on 127\.0\.0\.1:\d+", line)
        assert ask(ports[0], request("ApiVersions", 0, 9))[4:8] == b"\0\0\0\x09"
    assert (log.status, log.text) == (0, "")


def test_all_options_together() -> None:
    """Topics, settings, release, seed, several listeners and what they advertise."""
    options = ["--listen", "127.0.0.1:0", "--listen", "dialect=kip-17,127.0.0.1:0", "--advertise", "kafka.example:1234"]
    options += ["--topic", "orders:3", "--topic", "a.b_c:1", "--profile", "kafka", "--as", "3.9", "--seed", "7"]
    options += ["--config", "num.partitions=5", "--config", "offsets.retention.minutes=1"]
    with serve(*options) as (line, ports, log):
        assert re.search(r"listening on 127\.0\.0\.1:\d+, 127\.0\.0\.1:\d+ \(kip-17\)", line)
        answer = ask(ports[0], request("Metadata", 1, 9, topics=None))
        assert b"kafka.example" in answer
        assert b"orders" in answer
        assert b"a.b_c" in answer
        assert b"127.0.0.1" in ask(ports[1], request("Metadata", 1, 9, topics=None))
    assert log.status == 0


def test_verbose_logs_a_line_per_request() -> None:
    """Who asked what in which version, and what became of it."""
    with serve("--listen", "127.0.0.1:0", "--verbose") as (_, ports, log):
        ask(ports[0], request("Heartbeat", 4, 9, client_id="svc-1", group_id="g", generation_id=1, member_id="m"))
    (line,) = (line for line in log.text.splitlines() if "Heartbeat" in line)
    assert re.search(r"svc-1 \(127\.0\.0\.1:\d+\) to node 1: Heartbeat v4 of group g -> UNKNOWN_MEMBER_ID", line)


def test_verbose_log_lines_stay_lines() -> None:
    """Names from clients forge no line, colour no terminal and fill no screen."""
    heartbeat = {"group_id": "g", "generation_id": 1, "member_id": "m"}
    with serve("--listen", "127.0.0.1:0", "--verbose") as (_, ports, log):
        for name in ("a\nERROR forged", "\x1b[31mred", "\u202e", "x" * 30_000):
            ask(ports[0], request("Heartbeat", 4, 9, client_id=name, **heartbeat))
        ask(ports[0], request("JoinGroup", 3, 9, **{**JOIN, "group_id": "g\n" + "x" * 30_000}))
    lines = log.text.splitlines()
    assert all(re.match(r"20..-..-.. ..:..:..,... INFO ", line) for line in lines)
    assert max(map(len, lines)) < 2_200
    assert log.text.replace("\n", "").isprintable()
    assert r"a\nERROR forged (127.0.0.1" in log.text
    assert r"\x1b[31mred (127.0.0.1" in log.text


def test_a_log_that_nobody_reads_stops_nobody() -> None:
    """A full pipe costs lines, not answers; when it is read again the log says how many."""
    command = [sys.executable, "-m", "fakebroker", "serve", "--listen", "127.0.0.1:0", "--verbose"]
    heartbeat = request("Heartbeat", 4, 9, client_id="x" * 200, group_id="g", generation_id=1, member_id="m")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        port = int(process.stdout.readline().rpartition(b":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S) as client:
            for _ in range(100):
                client.sendall(heartbeat * 64)
                answers = client.recv(64 * 16, socket.MSG_WAITALL)
                assert len(answers) == 64 * 16
            read = b""
            while b" lines lost: the reader was too slow\n" not in read:
                client.sendall(heartbeat)
                client.recv(16, socket.MSG_WAITALL)
                read += cast(BufferedReader, process.stderr).read1()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_though_nobody_reads(number: int) -> None:
    """With both pipes full before it starts."""
    command = [sys.executable, "-m", "fakebroker", "serve", "--listen", "127.0.0.1:0", "--verbose"]
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writer, b"x" * 4096)
    with suppress(BlockingIOError):
        os.write(writer, b"x")
    os.set_blocking(writer, True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        command[5] = f"127.0.0.1:{free.getsockname()[1]}"
    with subprocess.Popen(command, stdout=writer, stderr=writer) as process:
        os.close(writer)
        port = int(command[5].rpartition(":")[2])
        assert ask_early(port, request("ApiVersions", 0, 9))[4:8] == b"\0\0\0\x09"
        process.send_signal(number)
        assert process.wait(TIMEOUT_S) == 0
    os.close(reader)


@pytest.mark.parametrize("output", ["closed", "without a reader", "full disk"])
def test_an_output_that_cannot_be_written_ends_nothing(output: str) -> None:
    """Clients are served whoever listens to what the broker says, and the end is no failure."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "fakebroker", "serve", "--verbose", "--listen", f"127.0.0.1:{port}"]
    if output == "closed":
        command = ["sh", "-c", f"exec {shlex.join(command)} >&- 2>&-"]
    reader, writer = os.pipe()
    os.close(reader)
    with open("/dev/full", "wb") as full:
        target = full.fileno() if output == "full disk" else writer
        with subprocess.Popen(command, stdout=target, stderr=target) as process:
            os.close(writer)
            for _ in range(3):
                assert ask_early(port, request("ApiVersions", 0, 9))[4:8] == b"\0\0\0\x09"
            process.send_signal(signal.SIGTERM)
            assert process.wait(TIMEOUT_S) == 0


def test_every_address_of_both_families() -> None:
    """Where a socket can be of both, [::] is; the line says an address that works; each client gets its own."""
    if not socket.has_dualstack_ipv6():
        pytest.skip("no socket here accepts both families")
    with serve("--listen", "[::]:0") as (line, ports, log):
        assert re.fullmatch(r"fakebroker listening on 127\.0\.0\.1:\d+ \(and all other addresses\)", line)
        metadata = request("Metadata", 1, 9, topics=None)
        assert b"\0\x09127.0.0.1\0" in ask(ports[0], metadata)
        assert b"\0\x03::1\0" in ask(ports[0], metadata, "::1")
    assert log.status == 0


def test_a_closed_connection_is_logged_with_its_reason() -> None:
    """Without --verbose too: whoever speaks HTTP to the port can read what went wrong."""
    with serve("--listen", "127.0.0.1:0") as (_, ports, log):
        assert ask(ports[0], b"GET / HTTP/1.1\r\n\r\n") == b""
    assert "HTTP" in log.text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--config", "num.partition=3"], "did you mean 'num.partitions'?"),
        (["--config", "num.partitions=many"], "num.partitions"),
        (["--config", "num.partitions"], "'num.partitions' is not SETTING=VALUE"),
        (["--config", "retention.ms=5"], "log.retention.ms"),
        (["--topic", "orders:"], "--topic 'orders:': it is not NAME[:PARTITIONS[:SETTING=VALUE,...]]"),
        (
            ["--topic", "orders:3:retention.mss=5"],
            "there is no topic setting 'retention.mss'; did you mean",
        ),
        (["--journal", "/dev/null/journal"], "cannot write a journal to '/dev/null/journal'"),
        (["--topic", "or ders:1"], "INVALID_TOPIC_EXCEPTION"),
        (["--as", "1.7"], "--as: there is no '1.7'; did you mean '1.1' or '1.0'?"),
        (["--listen", "99092"], "is not HOST:PORT with a port from 0 to 65535"),
        (["--advertise", "here"], "'here' is not HOST:PORT"),
        (["--advertise", ":9092"], "':9092' cannot be advertised"),
        (
            ["--listen", "nowhere.invalid:9092"],
            "cannot listen on nowhere.invalid:9092: the host 'nowhere.invalid' cannot",
        ),
        (["--listen", "a..b:9092"], "the host 'a..b' cannot be resolved"),
        (["--listen", "dialect=kip-99,127.0.0.1:0"], "kip-99"),
        (["--profile", "fast"], "Invalid value for '--profile': there is no 'fast'; there are test, kafka"),
    ],
)
def test_errors_are_one_clear_line(options: list[str], message: str) -> None:
    """No traceback, and what would be right."""
    free_port = [] if "--listen" in options else ["--listen", "127.0.0.1:0"]  # 9092 may be another test's at the moment
    assert message in fail(*free_port, *options)


def test_a_taken_port_is_one_clear_line() -> None:
    """Who is asked to listen where somebody listens already says so."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert fail("--listen", f"127.0.0.1:{port}") == (
            f"Error: cannot listen on 127.0.0.1:{port}: Address already in use"
        )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_the_first_accept(number: int) -> None:
    """The port is open before everything is loaded; a signal then is as good as later."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "fakebroker", "serve", "--listen", f"127.0.0.1:{port}"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S).close()
            except ConnectionRefusedError:
                assert process.poll() is None
                continue
            break
        process.send_signal(number)
        _, errors = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0
    assert errors == "" or errors.startswith("Exception ignored"), errors  # see test_early_signals.py


def test_serving_a_snapshot(tmp_path: Path) -> None:
    """`--from` goes on with the nodes, topics and settings of the file; options beside it go before those."""
    broker = FakeBroker(nodes=2, config={"num.partitions": 5}, as_release="3.9")
    broker.create_topic("orders", partitions=3)
    broker.snapshot().save(tmp_path / "before.fakebroker")
    options = ("--config", "auto.create.topics.enable=false", "--topic", "more:1")

    with serve("--from", str(tmp_path / "before.fakebroker"), "--listen", "127.0.0.1:0", *options) as (_, ports, log):
        assert len(ports) == 2
        answer = ask(ports[0], request("Metadata", 1, topics=None))

    assert log.status == 0
    assert b"orders" in answer
    assert b"more" in answer


def test_serving_a_copy_of_a_data_directory(tmp_path: Path) -> None:
    """`--data-from` goes on with its topics, leaves it as it is, and says what could not be used."""
    with FakeBroker(data=tmp_path / "data") as broker:
        broker.create_topic("orders", partitions=3)
    (tmp_path / "data" / "gone-0").mkdir()
    before = sorted(tmp_path.rglob("*"))

    with serve("--data-from", str(tmp_path / "data"), "--listen", "127.0.0.1:0") as (_, ports, log):
        answer = ask(ports[0], request("Metadata", 1, topics=None))

    assert log.status == 0
    assert b"orders" in answer
    assert f"note: {tmp_path / 'data' / 'gone-0'} is not used: it is of no topic" in log.text
    assert sorted(tmp_path.rglob("*")) == before


def test_serving_what_is_no_snapshot(tmp_path: Path) -> None:
    """A file that is not there or is something else is one clear line."""
    (tmp_path / "text").write_text("hello")
    assert f"cannot read {tmp_path / 'none'}: No such file" in fail("--from", str(tmp_path / "none"))
    assert "text is not a snapshot of fakebroker" in fail("--from", str(tmp_path / "text"))


def test_users_of_the_command_line_and_of_a_file_log_in(tmp_path: Path) -> None:
    """With users every client has to; no password is in the log."""
    users = tmp_path / "users"
    users.write_text("bob=secret-b\n", encoding="utf-8")
    options = ("--listen", "127.0.0.1:0", "--verbose", "--user", "alice=secret-a", "--users-file", str(users))
    with serve(*options) as (line, ports, log):
        assert line.endswith("(SASL_PLAINTEXT)")
        clients = ScriptedClients(TcpDriver("127.0.0.1", ports[0]))
        for name, password in (("alice", "secret-a"), ("bob", "secret-b")):
            client = clients.client("a", credentials=Credentials(name, password, "SCRAM-SHA-256"))
            assert client.metadata().brokers
        assert clients.client("a").login("alice", "secret-b").error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        clients.close()
    assert log.status == 0
    assert "User:alice logged in by SCRAM-SHA-256" in log.text
    assert "secret-" not in log.text


def test_what_is_no_user_is_reported_without_the_password(tmp_path: Path) -> None:
    """On the command line and in the file; a file that is not there has its name."""
    assert fail("--user", "alice-secret") == "Error: --user: a user must be NAME=PASSWORD"
    assert "cannot read /no/such/file" in fail("--users-file", "/no/such/file")


@pytest.mark.parametrize("option", ["--listen", "--advertise", "--control", "--as"])
def test_a_wrong_value_is_reported_with_its_option(option: str) -> None:
    """The names of Python's arguments are for Python."""
    assert fail(option, "a:b").startswith(f"Error: {option}: ")
