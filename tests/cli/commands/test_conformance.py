"""`fakebroker conformance` in the hands of the authors of brokers."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from fakebroker.cli.main import main
from fakebroker.client.cluster import links
from fakebroker.protocol.listeners import SASL_PLAINTEXT, SSL
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.scenarios.dialogue import player
from fakebroker.testing.broker import FakeBroker
from tests.support.bad_brokers import server, silent, spoiled
from tests.support.failing import failing
from tests.support.secured import PASSWORD, SECURED, command_config, properties_of, secured_broker

PYTHON = shlex.quote(sys.executable)
SERVE_AS_IS = f"exec {PYTHON} -m fakebroker serve --profile kafka --listen {{port}}"
SERVE = f"{SERVE_AS_IS} {{settings:--config}}"
SURVEYED = {ApiKey.API_VERSIONS, ApiKey.METADATA, ApiKey.DESCRIBE_CONFIGS, ApiKey.LIST_GROUPS}
SETTING_UP = SURVEYED | {ApiKey.CREATE_TOPICS, ApiKey.FIND_COORDINATOR, ApiKey.DELETE_TOPICS}
ONE = ("--only", "listoffsets/equal_timestamps")


def judge(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["conformance", *arguments])


def names_of(broker: FakeBroker) -> set[str]:
    """The topics, but for internal ones."""
    return {topic.name for topic in broker.topics if not topic.name.startswith("__")}


@pytest.fixture(scope="module")
def broker() -> Iterator[FakeBroker]:
    with FakeBroker(profile="kafka") as running:
        yield running


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits for answers that do not come are short."""
    monkeypatch.setattr(links, "FIRST_ANSWER_MS", 500)
    monkeypatch.setattr(player, "ANSWER_WITHIN_MS", 300)
    monkeypatch.setattr(player, "CLOSE_WITHIN_MS", 300)
    monkeypatch.setattr(player, "READY_TRIES", 1)


def test_a_running_broker_gets_a_score_by_chapter(broker: FakeBroker) -> None:
    """Each chapter has a line with its counts and its score, the last line is the sum; the exit status is 0."""
    result = judge(broker.bootstrap, "--chapter", "list-offsets", "--chapter", "cluster")
    lines = result.stdout.splitlines()

    assert result.exit_code == 0, result.output
    assert lines[0].split() == ["chapter", "cases", "as", "Kafka", "differs", "needs", "more", "score"]
    assert lines[1].split() == ["List", "offsets", "28", "28", "0", "0", "100", "%"]
    assert lines[2].split() == ["Cluster", "14", "0", "0", "14", "-"]
    assert lines[3].split() == ["all", "42", "28", "0", "14", "100", "%"]
    assert lines[4] == "needs more: 3 brokers (14)"


def test_what_was_made_is_deleted_and_nothing_else(broker: FakeBroker) -> None:
    """Topics and groups of the cases are gone afterwards; those that were there keep their records and offsets."""
    broker.create_topic("equal")
    broker.topic("equal").produce("mine")
    broker.group("billing").commit({("equal", 0): 1})

    result = judge(broker.bootstrap, *ONE, "--only", "offsets/txn_commit")

    assert result.exit_code == 0, result.output
    assert names_of(broker) == {"equal"}
    assert [record.value for record in broker.topic("equal").records()] == [b"mine"]
    assert broker.group("billing").offsets == {("equal", 0): 1}


def test_what_is_about_the_whole_broker_needs_it_alone(broker: FakeBroker) -> None:
    """On a broker that has topics, quotas are not changed unless --exclusive says that it may be."""
    broker.create_topic("somebody-elses")
    quotas = ("--only", "admin/quotas", "--only", "listoffsets/empty_requests")

    careful, exclusive = judge(broker.bootstrap, *quotas), judge(broker.bootstrap, *quotas, "--exclusive")

    assert "a broker of its own, or --exclusive: it changes quotas (2)" in careful.stdout
    assert careful.exit_code == exclusive.exit_code == 0
    assert "needs more" not in exclusive.stdout


def test_read_only_sends_nothing_that_changes() -> None:
    """With --read-only only reading APIs are called."""
    with FakeBroker(profile="kafka") as other:
        result = judge(other.bootstrap, "--read-only")
        sent = {entry.api for entry in other.journal.requests()}
        made = names_of(other)

    assert result.exit_code == 0, result.output
    assert sent <= {"ApiVersions", "Metadata", "DescribeConfigs", "ListGroups", "Fetch"}
    assert made == set()


def test_a_command_starts_brokers_with_the_settings(tmp_path: Path) -> None:
    """Cases with other settings get brokers of their own; those end with their children."""
    pids = tmp_path / "pids"
    command = f"echo $$ >> {pids}; {SERVE}"
    only = ("--only", "groups/jg_empty_group_id", "--only", "offsets-more/random_43_01", *ONE)

    result = judge("--command", command, *only, "--json", str(tmp_path / "score.json"))

    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "score.json").read_text())["total"].keys() == {"as Kafka"}
    started = [int(line) for line in pids.read_text().split()]
    assert len(started) >= 2
    assert not [pid for pid in started if Path(f"/proc/{pid}").exists()]


@pytest.mark.slow
def test_a_command_starts_as_many_brokers_as_cases_need(tmp_path: Path) -> None:
    """Cases with three brokers are played on three, which the control command kills and starts; without it not all."""
    ports = "--control {other_port} --nodes {nodes} {racks:--rack}"
    control = f"{PYTHON} -m fakebroker ctl --url http://127.0.0.1:{{other_port}} nodes {{node}} {{action}}"
    only = ("--only", "cluster/wrong_broker", "--only", "cluster/broker_down")
    one, three = judge("--command", SERVE, *only), ("--command", f"{SERVE} {ports}", *only)
    uncontrolled = judge(*three)
    controlled = judge(*three, "--control-command", control, "--json", str(tmp_path / "score.json"))
    helpless = judge(*three, "--control-command", "echo {node} cannot {action}; false")

    assert one.output.count("needs more: 3 brokers (2)") == 1, one.output
    assert "needs more: control over brokers: they are stopped and started (1)" in uncontrolled.output
    assert controlled.exit_code == 0, controlled.output
    assert json.loads((tmp_path / "score.json").read_text())["total"] == {"as Kafka": 2}
    assert "the control command ended with status 1: " in helpless.output, helpless.output
    assert helpless.exit_code == 1


def test_differences_have_their_rules(broker: FakeBroker, tmp_path: Path) -> None:
    """A wrong answer is printed with its line, both values and the rules; it is in the JUnit and JSON files."""
    junit, score = tmp_path / "out" / "junit.xml", tmp_path / "out" / "score.json"

    def spoil(key: int, answer: bytes) -> bytes:
        return answer if key != ApiKey.LIST_OFFSETS else answer[:-12] + b"\0" * 8 + answer[-4:]

    with spoiled(broker.bootstrap, spoil) as bad:
        result = judge(bad.address, *ONE, "--junit", str(junit), "--json", str(score))

    assert result.exit_code == 1
    assert re.search(r"^differs  listoffsets/equal_timestamps: .*\n    line \d+ receive .* Kafka", result.stdout, re.M)
    assert re.search(r"^    LO-\d+: [A-Z]", result.stdout, re.M)
    found = ElementTree.parse(junit).getroot()
    assert (found.get("tests"), found.get("failures")) == ("1", "1")
    assert re.search(r"recording: .*equal_timestamps.jsonl$", found.findtext(".//failure") or "", re.M)
    case = json.loads(score.read_text())["cases"][0]
    assert case["verdict"] == "differs"
    assert any(rule.startswith("LO-") for rule in case["rules"])


@pytest.mark.slow
def test_a_broker_that_goes_wrong_later_differs(broker: FakeBroker, impatient: None) -> None:
    """Wrong correlation ids, noise, cut frames, silence and closed connections are differences, and the run ends."""
    spoilers: dict[str, Callable[[bytes], bytes | None]] = {
        "wrong correlation id": lambda answer: answer[:4] + b"\x7f\0\0\1" + answer[8:],
        "noise": lambda answer: bytes(each ^ 0x5A for each in answer),
        "a huge frame": lambda answer: b"\x7f\xff\xff\xff" + answer,
        "a cut frame": lambda answer: answer[:9],
        "an answer cut inside": lambda answer: b"\0\0\0\x08" + answer[4:12],
        "nothing": lambda answer: answer[:0],
        "closed": lambda answer: None if answer else answer,
    }

    def differs(name: str) -> None:
        def spoil(key: int, answer: bytes) -> bytes | None:
            return answer if key in SETTING_UP else spoilers[name](answer)

        with spoiled(broker.bootstrap, spoil) as bad:
            result = judge(bad.address, *ONE)
        assert result.exit_code == 1, result.output
        assert "differs  listoffsets/equal_timestamps" in result.stdout

    assert failing(spoilers, differs) == {}


def test_a_broker_that_dies_ends_the_run(broker: FakeBroker, impatient: None) -> None:
    """When the broker stops answering, what is left is not run, and the exit status is 3."""

    def die(key: int, answer: bytes) -> bytes | None:
        if key == ApiKey.LIST_OFFSETS:
            dying.close()
        return answer

    with spoiled(broker.bootstrap, die) as dying:
        result = judge(dying.address, "--chapter", "list-offsets", "--side-by-side", "1")

    assert result.exit_code == 3
    assert "not run: the broker stopped answering while listoffsets/" in result.stdout
    assert re.search(r"^played when the broker stopped answering: listoffsets/\w+; play", result.stdout, re.M)
    assert "as Kafka" in result.stdout


@pytest.mark.parametrize(
    ("key", "status", "text"),
    [
        (ApiKey.METADATA, 3, "answers Metadata v1 (correlation id 2) with what cannot be read: MetadataResponse v1 at"),
        (ApiKey.LIST_GROUPS, 3, "with what cannot be read: ListGroupsResponse v5 at ThrottleTimeMs, ErrorCode, Groups"),
        (ApiKey.DESCRIBE_CONFIGS, 0, ""),
        (ApiKey.DELETE_TOPICS, 0, "left behind: what has "),
    ],
)
def test_answers_that_cannot_be_read(broker: FakeBroker, impatient: None, key: int, status: int, text: str) -> None:
    """Of what is asked beside the cases, an answer that is cut inside is named with the broker; the score is kept."""

    def spoil(asked: int, answer: bytes) -> bytes | None:
        return b"\0\0\0\x08" + answer[4:12] if asked == key else answer

    with spoiled(broker.bootstrap, spoil) as bad:
        address = bad.address
        result = judge(address, *ONE)

    assert result.exit_code == status
    assert text in result.output
    assert ("100 %" in result.stdout) == (status == 0)
    assert f"Error: {address} answers" in result.stderr or not status


def test_what_is_no_broker_is_said_to_be_none(impatient: None) -> None:
    """A closed port, a server that is silent and one that speaks something else are named; the exit status is 3."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        closed = judge(f"127.0.0.1:{unused.getsockname()[1]}")
    with server(silent) as hanging:
        mute = judge(hanging.address)
    with server(lambda client: client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as web:
        wrong = judge(web.address)

    assert closed.exit_code == mute.exit_code == wrong.exit_code == 3
    assert "no broker answers at 127.0.0.1:" in closed.stderr
    assert "accepts connections and gives no answer within 500 ms" in mute.stderr
    assert "this looks like HTTP" in wrong.stderr


@pytest.mark.slow
def test_a_secured_broker_is_judged_with_its_properties(tmp_path: Path) -> None:
    """Over TLS, with a login and with both the same cases go as over plain TCP, with --command-config."""

    def goes_well(protocol: str) -> None:
        with secured_broker(protocol, profile="kafka") as broker:
            config = command_config(tmp_path, protocol)
            result = judge(broker.bootstrap, *ONE, "--only", "offsets/txn_commit", "--command-config", config)
        assert result.exit_code == 0, result.output
        assert "not run" not in result.stdout

    assert failing(SECURED, goes_well) == {}


def test_tls_or_a_login_in_the_way_is_named(tmp_path: Path, impatient: None) -> None:
    """Without --command-config the error says what the listener wants, and which property helps; the status is 3."""
    with secured_broker(SSL) as broker:
        encrypted = judge(broker.bootstrap, *ONE)
    with secured_broker(SASL_PLAINTEXT) as broker:
        wants_login = judge(broker.bootstrap, *ONE)
        wrong = tmp_path / "wrong.properties"
        wrong.write_text(properties_of(SASL_PLAINTEXT).replace(PASSWORD, "guessed"))
        refused = judge(broker.bootstrap, *ONE, "--command-config", str(wrong))

    assert encrypted.exit_code == wants_login.exit_code == refused.exit_code == 3
    assert "speaks TLS: security.protocol is SSL or SASL_SSL there" in encrypted.stderr
    assert "wants a login (SASL: " in wants_login.stderr
    assert "set security.protocol=SASL_PLAINTEXT or SASL_SSL, sasl.mechanism and a login" in wants_login.stderr
    assert "the login failed" in refused.stderr
    assert "guessed" not in refused.output


def test_a_command_that_starts_no_broker_is_not_run(tmp_path: Path) -> None:
    """A command that ends is status 3 with its last line; one that refuses settings makes cases need them."""
    missing = judge("--command", "echo no java >&2; exit 3 # {port}")
    picky = f"test -z {{settings}} || {{ echo sorry; exit 2; }}; {SERVE_AS_IS}"
    refusing = judge("--command", picky, "--only", "offsets-more/random_43_01", *ONE)
    slow = judge("--command", "sleep 60 # {port}", "--start-limit", "0.3")
    always = judge("--command", "echo no licence; exit 2 # {port}")

    assert missing.exit_code == slow.exit_code == always.exit_code == 3
    assert "the command ended with status 3: no java" in missing.stderr
    assert "the command ended with status 2 when it was started without settings: no licence" in always.stderr
    assert "no broker after 0.3 s" in slow.stderr
    assert "needs settings: the command refuses them: sorry" in refusing.stdout
    assert refusing.exit_code == 0, refusing.output


def test_the_time_limit_ends_the_run(broker: FakeBroker) -> None:
    """What is not done at the limit is not run, and the exit status is 3."""
    result = judge(broker.bootstrap, "--only", "groups/md_auto_creation", "--time-limit", "0.2")

    assert result.exit_code == 3, result.output
    assert "not run: the time limit was reached" in result.stdout


@pytest.mark.slow
def test_wrong_arguments_are_bad_input() -> None:
    """One of HOST:PORT and --command is needed, with a port; names of what there is not are named."""
    results = [
        judge(),
        judge("127.0.0.1:9092", "--command", "x {port}"),
        judge("localhost"),
        judge("--command", "start"),
        judge("127.0.0.1:9092", "--release", "1.1"),
        judge("127.0.0.1:9092", "--control-command", "x {action} {node}"),
        judge("--command", "x {port}", "--control-command", "x {action}"),
        judge("127.0.0.1:9092", "--json", "."),
        judge("127.0.0.1:9092", "--slack", "-1"),
    ]

    assert [result.exit_code for result in results] == [2] * len(results)
    assert "give HOST:PORT of a running broker, or --command to start one" in results[0].stderr
    assert "HOST:PORT and --command are mutually exclusive" in results[1].stderr
    assert "'localhost' is not HOST:PORT" in results[2].stderr
    assert "{port} is missing" in results[3].stderr
    assert "--control-command needs --command" in results[5].stderr
    assert "{node} is missing" in results[6].stderr
    assert "File '.' is a directory" in results[7].stderr
    assert "-1.0 is not in the range x>=0" in results[8].stderr


def test_a_signal_ends_what_was_started(tmp_path: Path) -> None:
    """SIGTERM ends the command, its brokers and their children."""
    pids = tmp_path / "pids"
    command = [sys.executable, "-m", "fakebroker", "conformance", "--only", "expiry_slow"]
    running = subprocess.Popen(
        [*command, "--command", f"sleep 300 & echo $! >> {pids}; {SERVE}"], stderr=subprocess.PIPE
    )
    while not pids.exists() or len(pids.read_text().split()) < 2:  # the first is asked what it serves
        assert running.poll() is None
        time.sleep(0.05)

    os.kill(running.pid, signal.SIGTERM)

    assert running.wait(30) == 1
    assert running.stderr is not None
    running.stderr.close()
    assert not [pid for pid in pids.read_text().split() if _is_running(int(pid))]


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False
