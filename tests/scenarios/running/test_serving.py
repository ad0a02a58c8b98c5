"""`fakebroker serve --scenario`: the timeline is played while clients are connected."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from fakebroker.client.scripted.scripted_client import ScriptedClients
from fakebroker.client.scripted.tcp_driver import TcpDriver
from tests.cli.test_cli import TIMEOUT_S, fail, serve
from tests.support.serving import controlled

WAITS = """\
about: A commit is refused, then taken.
nodes: 1
config: {num.partitions: 3}
parameters: {offset: 7}
topics: {orders: {partitions: 2}}
timeline:
  - {fault: {api: OffsetCommit, error: NOT_COORDINATOR, times: 1}, as: refused}
  - {wait: {fault: refused, hits: 1}, within: 20s}
  - {wait: {group: billing, offsets: {orders-0: "${offset}"}}, within: 20s}
  - {expect: {topic: orders, partitions: 2}}
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    path = tmp_path / "waits.yaml"
    path.write_text(WAITS)
    return str(path)


def commit(port: int, offset: int) -> list[int]:
    """Commit until it is taken; the errors."""
    clients = ScriptedClients(TcpDriver("127.0.0.1", port))
    client = clients.client("a")
    errors: list[int] = []
    while not errors or errors[-1]:
        answer = client.commit({("orders", 0): offset}, group_id="billing")
        errors.append(answer.topics[0].partitions[0][1])
    clients.close()
    return errors


def play_and_commit(path: str) -> tuple[int, str]:
    """Serve a scenario, be its client, and wait for the end: status and all that it wrote."""
    command = [sys.executable, "-m", "fakebroker", "serve", "--listen", "127.0.0.1:0"]
    options = ["--scenario", path, "--exit-when-done"]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout
        lines = [process.stdout.readline()]
        while "listening on" not in lines[-1]:
            lines.append(process.stdout.readline())
        commit(int(lines[-1].rpartition(":")[2]), 7)
        rest, _ = process.communicate(timeout=TIMEOUT_S)
    return process.returncode, "".join(lines) + rest


def test_a_timeline_that_comes_out_ends_with_0(path: str) -> None:
    """Each step is logged."""
    status, log = play_and_commit(path)

    assert status == 0, log
    for line, text in enumerate(WAITS.splitlines()[6:10], 7):
        assert f"waits.yaml:{line} {text.strip(' -{').split(':')[0]}" in log
    assert "WARNING" not in log
    assert "ERROR" not in log
    assert log.endswith("fakebroker scenario waits: ok\n")


def test_an_expectation_that_does_not_hold_ends_with_1(path: str) -> None:
    """The log says which."""
    Path(path).write_text(
        WAITS.replace("partitions: 2}}", "partitions: 3}}", 2).replace(
            "orders: {partitions: 3}", "orders: {partitions: 2}"
        )
    )
    status, log = play_and_commit(path)

    assert status == 1, log
    assert "waits.yaml:10 FAILED: " in log
    assert log.endswith("fakebroker scenario waits: FAILED, 1 problem\n")


def test_a_signal_in_the_middle_ends_with_1_and_says_where(path: str) -> None:
    """Its end is no problem of the scenario, but it did not come out as it says either."""
    command = [sys.executable, "-m", "fakebroker", "serve", "--listen", "127.0.0.1:0", "--scenario", path]
    with subprocess.Popen([*command, "--exit-when-done"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        process.stdout.readline()
        process.terminate()
        message, _ = process.communicate(timeout=TIMEOUT_S)

    assert process.returncode == 1
    step = "wait: {fault: refused, hits: 1}, within: 20s"
    assert message == f"fakebroker scenario waits: stopped early, at {path}:8: {step}\n"


def test_without_the_option_the_broker_goes_on(path: str) -> None:
    """A signal ends it, with status 0, also in the middle of the timeline."""
    with serve("--listen", "127.0.0.1:0", "--scenario", path, "--set", "offset=9") as (_, ports, log):
        commit(ports[0], 7)
    assert log.status == 0, log.text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--nodes", "3"), "--nodes is 3, but the scenario has 1"),
        (("--as", "3.9"), "--as is 3.9, but the scenario has 4.3"),
        (("--config", "num.partitions=4"), "--config num.partitions is 4, but the scenario has 3"),
        (("--topic", "orders:5"), "topic orders"),
        (("--set", "ofset=4"), "ofset"),
    ],
)
def test_options_that_contradict_the_scenario_are_refused(path: str, options: tuple[str, ...], message: str) -> None:
    """Before a client is served, with a status that a scenario which was played does not have."""
    command = [sys.executable, "-m", "fakebroker", "serve", "--listen", "127.0.0.1:0", "--scenario", path]
    done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)

    assert message in done.stderr
    assert done.returncode == 2


def test_options_of_a_scenario_need_one() -> None:
    """They would say nothing."""
    assert "--scenario" in fail("--listen", "127.0.0.1:0", "--exit-when-done")
    there_is_none = fail("--listen", "127.0.0.1:0", "--scenario", "nowhere.yaml")
    assert there_is_none == "Error: nowhere.yaml: No such file or directory"


def test_what_is_served_is_the_first_scenario_of_the_http_api(path: str) -> None:
    """A test in any language waits for it by HTTP, or ends it."""
    with controlled("--scenario", path) as url:
        (message,) = asked(f"{url}/scenarios")
        assert (message["scenario_id"], message["state"]) == ("p1", "playing")
        assert asked(f"{url}/scenarios/p1")["transcript"].splitlines()[-1].startswith("goes on at ")
        assert message["step"] == f"{path}:8: wait: {{fault: refused, hits: 1}}, within: 20s"
        commit(port_of(url), 7)
        assert asked(f"{url}/scenarios/p1/wait", "POST")["state"] == "passed"


def asked(url: str, verb: str = "GET") -> Any:
    with urlopen(Request(url, method=verb), timeout=TIMEOUT_S) as answer:
        return json.load(answer)


def port_of(url: str) -> int:
    return int(asked(f"{url}/nodes")[0]["address"]["port"])
