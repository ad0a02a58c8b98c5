"""`fakebroker record` as a process: what it prints, its status, and what it leaves behind however it ends."""

import re
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fakebroker import FakeBroker
from fakebroker.cli.commands.record import record
from fakebroker.protocol.wire.frame import encode_request
from fakebroker.protocol.wire.messages.heartbeat import HeartbeatRequest
from fakebroker.serve.listener_options import parse_address
from fakebroker.testing.exchanges.messages import frame_of
from tests.support.recorder import asked, connected, played
from tests.testing.exchanges.sessions import lines_in

TIMEOUT_S = 20
HEARTBEAT = encode_request(HeartbeatRequest(group_id="g", generation_id=1, member_id="m"), 3, 1, "c")


@contextmanager
def recorder(upstream: str, out: Path, *options: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """The command as a process, and the address where it listens."""
    command = [sys.executable, "-m", "fakebroker", "record", "--upstream", upstream, "--listen", "127.0.0.1:0"]
    command += ["--out", str(out), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        line = process.stdout.readline()
        found = re.fullmatch(r"fakebroker recording on (127\.0\.0\.1:\d+)\n", line)
        if found is None:
            raise AssertionError(line + process.communicate(timeout=TIMEOUT_S)[1])
        try:
            yield process, found[1]
        finally:
            process.kill()


def heartbeat(address: str) -> None:
    with connected(parse_address(address)) as sock:
        assert asked(sock, HEARTBEAT)


def refused(*arguments: str) -> str:
    """What a recorder says that cannot start."""
    command = [sys.executable, "-m", "fakebroker", "record", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode in (2, 3)
    assert done.stdout == ""
    return done.stderr


def highest_kb(process: "subprocess.Popen[str]") -> int:
    """How much memory a process has had at most."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found
    return int(found[1])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="there is no /proc here")
@pytest.mark.slow
def test_a_long_frame_needs_little_more_memory_than_it_is_long(tmp_path: Path) -> None:
    """64 MB pass through and are in the session as a whole, without many copies of them at a time."""
    frame = struct.pack(">hhih", 999, 0, 5, -1) + bytes(64 << 20)
    with (
        played(lambda _: struct.pack(">i", 5)) as upstream,
        recorder(upstream.address, tmp_path / "s") as (process, address),
        connected(parse_address(address)) as sock,
    ):
        before_kb = highest_kb(process)
        assert asked(sock, frame) == struct.pack(">i", 5)
        assert highest_kb(process) - before_kb < 2.5 * len(frame) / 1024
        assert upstream.requests[-1] == frame
        request = next(line for line in lines_in(tmp_path / "s") if line["kind"] == "request")
    assert frame_of(request) == frame


def test_the_page_has_every_option() -> None:
    """docs/how-to/recording.md does not drift from the command."""
    page = (Path(__file__).resolve().parents[3] / "docs" / "how-to" / "recording.md").read_text()
    assert {option for one in record.params for option in one.opts if f"`{option}" not in page} == set()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_session_with_a_summary(tmp_path: Path, number: signal.Signals) -> None:
    """The file has its end line, the terminal a sentence, and the status is 0."""
    with FakeBroker() as broker, recorder(broker.bootstrap, tmp_path / "s") as (process, address):
        heartbeat(address)
        process.send_signal(number)
        out, _ = process.communicate(timeout=TIMEOUT_S)

    assert out == f"{tmp_path / 's'}: 1 connections, 1 requests, 1 answers\n"
    assert process.returncode == 0
    *_, end = lines_in(tmp_path / "s")
    assert (end["kind"], end["reason"]) == ("end", number.name)
    assert end["summary"] == {"connections": 1, "requests": 1, "answers": 1, "not_understood": {}}


def test_nothing_is_lost_when_the_recorder_is_killed(tmp_path: Path) -> None:
    """Whatever a client has got is in the file, though nobody could close it."""
    with (
        FakeBroker() as broker,
        recorder(broker.bootstrap, tmp_path / "s") as (process, address),
        connected(parse_address(address)) as sock,
    ):
        for _ in range(50):
            assert asked(sock, HEARTBEAT)
        process.kill()
        process.wait(TIMEOUT_S)

    kinds = [line["kind"] for line in lines_in(tmp_path / "s")]
    assert (kinds.count("request"), kinds.count("answer"), kinds[-1]) == (50, 50, "answer")


def test_a_full_disk_is_reported_and_clients_are_served_on(tmp_path: Path) -> None:
    """The recording ends with an error and status 1; the clients of the proxy do not notice."""
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full here")
    with FakeBroker() as broker, recorder(broker.bootstrap, full, "--force") as (process, address):
        heartbeat(address)
        heartbeat(address)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=TIMEOUT_S)

    assert "the recording ends here, /dev/full cannot be written: No space left on device" in errors
    assert errors.count("cannot be written") == 1
    assert process.returncode == 1


def test_without_an_upstream_there_is_no_recording(tmp_path: Path) -> None:
    """A wrong address is reported at once, with status 1, and no file is left that would be in the way."""
    with played(lambda _: b"") as upstream:
        pass

    said = refused("--upstream", upstream.address, "--listen", "127.0.0.1:0", "--out", str(tmp_path / "s"))

    assert said == f"Error: no broker answers at {upstream.address}: Connection refused\n"
    assert not (tmp_path / "s").exists()


def test_an_upstream_that_tells_nothing_is_recorded_all_the_same(tmp_path: Path) -> None:
    """One that wants authentication first closes our connection: a warning, and the problem in the file."""
    with played(lambda _: b"") as upstream, recorder(upstream.address, tmp_path / "s") as (process, _):
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=TIMEOUT_S)

    assert "the upstream's api_versions could not be asked for" in errors
    _, state, _ = lines_in(tmp_path / "s")
    assert state["about"] == "api_versions"
    assert "closed by the broker" in state["problem"]


def test_a_port_that_is_taken_is_reported(tmp_path: Path) -> None:
    """Where the proxy cannot listen there is no recording, and no file."""
    with FakeBroker() as broker, played(lambda _: None) as taken:
        said = refused("--upstream", broker.bootstrap, "--listen", taken.address, "--out", str(tmp_path / "s"))

    assert "address already in use" in said
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--redact", "payload"], "--redact: there is no 'payload'; did you mean 'payloads'?"),
        (["--redact", "nothing,payloads"], "--redact nothing,payloads: nothing cannot be combined with other values"),
        (["--upstream", "kafka"], "--upstream: 'kafka' is not HOST:PORT with a port from 1 to 65535"),
        (["--upstream", "a:1,b:2"], "--upstream a:1,b:2: give one broker; it names the others"),
        (["--listen", "localhost:99999"], "'localhost:99999' is not HOST:PORT"),
        (["--advertise", "0.0.0.0"], "cannot be advertised"),
        (["--out", "/nowhere/s"], "/nowhere/s cannot be written: No such file or directory"),
    ],
)
def test_wrong_options_are_reported(tmp_path: Path, options: list[str], message: str) -> None:
    """Each says what is wrong, before anything is opened."""
    usual = ["--upstream", "127.0.0.1:1", "--listen", "127.0.0.1:0", "--out", str(tmp_path / "s")]

    said = refused(*usual, *options)

    assert message in said


def test_a_session_that_exists_is_kept(tmp_path: Path) -> None:
    """It takes --force to overwrite one."""
    (tmp_path / "s").write_text("precious")

    said = refused("--upstream", "127.0.0.1:1", "--listen", "127.0.0.1:0", "--out", str(tmp_path / "s"))

    assert "exists; --force overwrites it" in said
    assert (tmp_path / "s").read_text() == "precious"


def test_redact_says_what_is_left_out(tmp_path: Path) -> None:
    """The session names it: payloads bring secrets with them, nothing is nothing."""
    for given, warned in (("payloads", ["payloads", "secrets"]), ("nothing", []), ("secrets", ["secrets"])):
        with FakeBroker() as broker, recorder(broker.bootstrap, tmp_path / given, "--redact", given) as (process, _):
            process.send_signal(signal.SIGTERM)
            process.wait(TIMEOUT_S)
        assert lines_in(tmp_path / given)[0]["redacted"] == warned
