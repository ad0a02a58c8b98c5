"""`fakebroker ctl` for what is no power: isolated brokers, snapshots, the journal as stream and files, health."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fakebroker.cli.ctl.extras import EXTRAS
from fakebroker.cli.ctl.options import options_of
from fakebroker.cli.http.extras import EXTRAS as SERVED
from fakebroker.cli.main import main
from tests.support.serving import controlled

Ctl = Callable[..., Result]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A served broker."""
    with controlled() as url:
        yield url


@pytest.fixture
def ctl(url: str) -> Ctl:
    """Run a command against it, as new."""

    def run(*words: str) -> Result:
        return CliRunner().invoke(main, ["ctl", "--url", url, *words])

    assert run("reset").exit_code == 0
    return run


def test_every_path_beside_the_powers_is_a_command() -> None:
    """With the same arguments, and for isolated brokers where the path is."""
    assert {(e.verb, e.path): e.of_broker for e in EXTRAS} == {(e.verb, e.path): e.of_broker for e in SERVED}
    served = {(e.verb, e.path): e for e in SERVED}
    for extra in EXTRAS:
        there = served[extra.verb, extra.path]
        taken = list(there.arguments().parameters) if there.arguments else list(there.query)
        assert [option.name for option in options_of(extra)] == taken, extra


def test_a_broker_of_ones_own(ctl: Ctl) -> None:
    """It is made, used with --broker, and stopped."""
    made = ctl("--json", "brokers", "add", "--nodes", "2", "--config", "num.partitions=3", "--listen", "127.0.0.1:0")
    broker_id = json.loads(made.output)["broker_id"]
    assert ctl("--broker", broker_id, "topics", "orders", "create").exit_code == 0
    assert len(json.loads(ctl("--json", "--broker", broker_id, "nodes").output)) == 2
    assert json.loads(ctl("--json", "topics").output) == []
    assert json.loads(ctl("--json", "brokers", broker_id).output) == json.loads(made.output)
    assert ctl("brokers", broker_id, "delete").exit_code == 0
    assert json.loads(ctl("--json", "brokers").output) == []
    assert ctl("--broker", broker_id, "topics").exit_code == 1


def test_snapshots(ctl: Ctl, tmp_path: Path) -> None:
    """One is taken, saved, loaded, forked, restored and forgotten."""
    ctl("topics", "orders", "create")
    taken = json.loads(ctl("--json", "snapshots", "add").output)["snapshot_id"]
    file = str(tmp_path / "incident.fakebroker")
    assert ctl("snapshots", taken, "file", "--out", file).output == ""
    loaded = json.loads(ctl("--json", "snapshots", "file", file).output)
    assert loaded["topics"] == ["orders"]
    fork = ctl("--json", "snapshots", loaded["snapshot_id"], "fork", "--config", "offsets.retention.minutes=1440")
    own = json.loads(fork.output)["broker_id"]
    assert [topic["name"] for topic in json.loads(ctl("--json", "--broker", own, "topics").output)] == ["orders"]
    ctl("topics", "orders", "delete")
    assert ctl("snapshots", taken, "restore").exit_code == 0
    assert json.loads(ctl("--json", "topics", "orders").output)["name"] == "orders"
    for snapshot_id in (taken, loaded["snapshot_id"]):
        assert ctl("snapshots", snapshot_id, "delete").exit_code == 0
    assert ctl("brokers", own, "delete").exit_code == 0
    assert json.loads(ctl("--json", "snapshots").output) == []


def test_files_of_the_journal(ctl: Ctl, tmp_path: Path) -> None:
    """They are written as they are; a journal does not differ from itself, and a file that is none is refused."""
    ctl("groups", "billing", "commit", "--offsets", "orders-0=42")
    journal = tmp_path / "run.jsonl"
    assert ctl("journal", "file", "--out", str(journal)).exit_code == 0
    assert ctl("journal", "diff", str(journal)).output == "no difference\n"
    assert json.loads(ctl("journal", "trace").output)
    assert ctl("journal", "pcap").stdout_bytes[:4] == b"\xd4\xc3\xb2\xa1"
    journal.write_text("garbage")
    refused = ctl("journal", "diff", str(journal))
    assert (refused.exit_code, "the body, line 1: not JSON: Expecting value" in refused.output) == (1, True)
    assert ctl("journal", "file", "--out", str(tmp_path / "no" / "where")).exit_code == 2


def test_the_journal_while_it_happens(url: str, ctl: Ctl) -> None:
    """A line for each entry, until the stream ends."""
    command = [sys.executable, "-m", "fakebroker", "ctl", "--url", url, "journal", "stream", "--since", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as following:
        try:
            ctl("clock", "advance", "--days", "8")
            assert following.stdout
            kinds = [json.loads(following.stdout.readline())["kind"] for _ in range(2)]
            assert kinds == ["broker_started", "clock_moved"]
        finally:
            following.terminate()


def test_health(ctl: Ctl) -> None:
    """What a monitor asks."""
    assert json.loads(ctl("--json", "healthz").output) == {"status": "ok"}
    assert json.loads(ctl("--json", "errors").output) == []
    assert ctl("metrics").output.startswith("# HELP fakebroker_")
    assert json.loads(ctl("openapi").output)["openapi"] == "3.1.0"


def test_offsets_are_said_as_kafka_names_partitions(ctl: Ctl) -> None:
    """TOPIC-PARTITION=OFFSET, repeated for several."""
    ctl("topics", "my-orders", "create", "--partitions", "2")
    offsets = ["--offsets", "my-orders-0=42", "--offsets", "my-orders-1=7"]
    assert ctl("groups", "billing", "commit", *offsets).exit_code == 0
    assert json.loads(ctl("--json", "groups", "billing").output)["offsets"] == {"my-orders": {"0": 42, "1": 7}}
    wrong = ctl("groups", "billing", "commit", "--offsets", "my-orders=42")
    assert (wrong.exit_code, "'my-orders=42' is not TOPIC-PARTITION=OFFSET" in wrong.output) == (2, True)


PASSES = "about: x\ntopics: {orders: {partitions: 1}}\nparameters: {n: 1}\ntimeline:\n"
PASSES += '  - {expect: {topic: orders, partitions: "${n}"}}\n'


def test_a_scenario_that_fails_is_a_failed_command(ctl: Ctl, tmp_path: Path) -> None:
    """Of `play`, when it is over already, and of `wait`: a script need not read the answer."""
    path = tmp_path / "x.yaml"
    path.write_text(PASSES)
    assert ctl("scenarios", "play", str(path), "--virtual").exit_code == 0

    failed = ctl("scenarios", "play", str(path), "--virtual", "--set", "n=2")
    assert failed.exit_code == 1
    assert failed.output.endswith(
        f"failed\n{path}:5: expect: {{topic: orders, partitions: 2}}: partitions: expected 2, but saw 1\n"
    )

    begun = json.loads(ctl("--json", "scenarios", "play", str(path), "--parameters", "n=2").output)
    assert ctl("scenarios", begun["scenario_id"], "wait").exit_code == 1
    assert ctl("scenarios", begun["scenario_id"]).exit_code == 0
    path.write_text(PASSES + "  - x: y\n")
    assert f"{path}:6: x" in ctl("scenarios", "play", str(path)).output
