"""What a team of another language does with fakebroker: everything over HTTP and from a shell, against a process."""

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import confluent_kafka
import pytest

from tests.examples.consumers import consumer, read
from tests.support.serving import controlled

pytestmark = pytest.mark.clients

TIMEOUT_S = 30
DAY_MS = 86_400_000


class Answer(NamedTuple):
    """Status, media type and data of an answer."""

    status: int
    media_type: str
    data: Any


class Http:
    """An HTTP client that knows nothing of fakebroker."""

    def __init__(self, url: str) -> None:
        self.url = url

    def __call__(self, verb: str, path: str, body: object = None) -> Answer:
        sent = None if body is None else json.dumps(body).encode()
        headers = {} if body is None else {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, sent, headers, method=verb)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                return _answer(answer.status, answer)
        except urllib.error.HTTPError as error:
            with error:
                return _answer(error.code, error)


def _answer(status: int, answer: Any) -> Answer:
    text = answer.read()
    return Answer(status, answer.headers.get_content_type(), json.loads(text) if text else None)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """`fakebroker serve --control` in a process of its own."""
    with controlled() as url:
        yield url


@pytest.fixture
def http(url: str) -> Http:
    """A broker that is as new."""
    client = Http(url)
    assert client("POST", "/reset").status == 204
    return client


def test_eight_days_pass(http: Http) -> None:
    """POST /clock/advance {"days": 8}: the time of day is eight days later."""
    before = http("GET", "/clock").data["now_ms"]

    assert http("POST", "/clock/advance", {"days": 8}).status == 204

    passed_ms = http("GET", "/clock").data["now_ms"] - before
    assert 8 * DAY_MS <= passed_ms < 8 * DAY_MS + TIMEOUT_S * 1000


def test_a_fault_is_set(http: Http) -> None:
    """POST /faults: the next commit of the group is refused as it says, the one after it is not."""
    http("PUT", "/topics/orders")
    http("POST", "/topics/orders/records", {"values": ["a"]})
    fault = {"api": "OffsetCommit", "group": "billing", "error": "TOPIC_AUTHORIZATION_FAILED", "times": 1}

    made = http("POST", "/faults", fault)

    assert (made.status, made.data["fields"]) == (201, fault)
    with consumer(http("GET", "/bootstrap").data, "billing", "orders") as billing:
        read(billing, 1)
        with pytest.raises(confluent_kafka.KafkaException, match="TOPIC_AUTHORIZATION_FAILED"):
            billing.commit(asynchronous=False)
        billing.commit(asynchronous=False)
    assert http("GET", f"/faults/{made.data['fault_id']}").data["hits"] == 1
    assert http("GET", "/groups/billing").data["offsets"] == {"orders": {"0": 1}}


def test_a_group_is_explained(http: Http) -> None:
    """GET /groups/billing/explain: why its offset is gone after eight days, with the rule."""
    http("PUT", "/topics/orders")
    http("POST", "/groups/billing/commit", {"offsets": {"orders": {"0": 42}}})
    http("POST", "/clock/advance", {"days": 8})

    (offset,) = http("GET", "/groups/billing/explain").data["offsets"]

    assert (offset["topic"], offset["offset"], offset["expired"]) == ("orders", 42, True)
    assert offset["rule"].startswith("EX-")


def test_a_group_is_waited_for(http: Http) -> None:
    """POST /groups/billing/wait {"state": "Stable", "members": 2}: it ends when both have joined."""
    http("PUT", "/topics/orders", {"partitions": 2})
    bootstrap = http("GET", "/bootstrap").data
    wanted = {"state": "Stable", "members": 2}

    with (
        consumer(bootstrap, "billing", "orders") as one,
        consumer(bootstrap, "billing", "orders") as other,
        ThreadPoolExecutor(1) as threads,
    ):
        waiting = threads.submit(http, "POST", "/groups/billing/wait", {**wanted, "timeout_s": TIMEOUT_S / 2})
        while not waiting.done():
            one.poll(0.05)
            other.poll(0.05)

    group = waiting.result()
    assert group.status == 200
    assert (group.data["state"], len(group.data["members"])) == ("Stable", 2)


def test_a_wait_in_vain_says_what_there_was(http: Http) -> None:
    """The same without members: a timeout whose text says what the group was instead."""
    given_up = http("POST", "/groups/billing/wait", {"state": "Stable", "members": 2, "timeout_s": 0.05})

    assert given_up.status == 408
    assert "it is Dead: the group does not exist" in given_up.data["detail"]


def test_a_topic_is_made(http: Http) -> None:
    """PUT /topics/orders: a client finds it with its partitions."""
    made = http("PUT", "/topics/orders", {"partitions": 3})

    assert (made.status, made.data["partitions"]) == (201, 3)
    with consumer(http("GET", "/bootstrap").data, "billing", "orders") as billing:
        assert len(billing.list_topics("orders", timeout=TIMEOUT_S).topics["orders"].partitions) == 3


def test_a_reset_leaves_nothing(http: Http) -> None:
    """POST /reset: no topics, no groups, no faults, the machine's time, on the same port."""
    bootstrap = http("GET", "/bootstrap").data
    http("PUT", "/topics/orders")
    http("POST", "/groups/billing/commit", {"offsets": {"orders": {"0": 1}}})
    http("POST", "/faults", {"api": "Fetch", "error": "NOT_LEADER_OR_FOLLOWER"})
    http("POST", "/clock/advance", {"days": 8})
    later_ms = http("GET", "/clock").data["now_ms"]

    assert http("POST", "/reset").status == 204

    assert [http("GET", path).data for path in ("/topics", "/groups", "/faults", "/journal")] == [[], [], [], []]
    assert http("GET", "/clock").data["now_ms"] < later_ms - 7 * DAY_MS
    assert http("GET", "/bootstrap").data == bootstrap


def test_the_journal_is_asked_for_an_api(http: Http) -> None:
    """GET /journal?api=JoinGroup: the joins with their answers, and nothing else."""
    http("PUT", "/topics/orders")
    http("POST", "/topics/orders/records", {"values": ["a"]})
    with consumer(http("GET", "/bootstrap").data, "billing", "orders", client_id="svc-1") as billing:
        read(billing, 1)

    joins = http("GET", "/journal?api=JoinGroup").data

    assert {join["api"] for join in joins} == {"JoinGroup"}
    assert {join["client"] for join in joins} == {"svc-1"}
    assert [join["errors"] for join in joins] == [["MEMBER_ID_REQUIRED"], []]


def test_an_error_names_the_field(http: Http) -> None:
    """Errors are problem documents (RFC 9457) with the field and its value; nothing has changed then."""
    wrong = http("POST", "/clock/advance", {"days": "8"})

    assert (wrong.status, wrong.media_type) == (422, "application/problem+json")
    assert wrong.data.keys() >= {"type", "title", "status", "detail"}
    assert (wrong.data["field"], wrong.data["value"]) == ("days", "8")

    misspelt = http("POST", "/faults", {"api": "OffsetComit", "error": "NOT_COORDINATOR"})

    assert (misspelt.data["field"], "OffsetCommit" in misspelt.data["detail"]) == ("api", True)
    assert http("GET", "/faults").data == []


def test_a_health_endpoint(http: Http) -> None:
    """GET /healthz: 200 while clients are served."""
    assert http("GET", "/healthz") == (200, "application/json", {"status": "ok"})


def test_the_same_from_a_shell(http: Http) -> None:
    """`fakebroker ctl` has the words of the paths and the options of the bodies; what is refused is status 1."""

    def ctl(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "fakebroker", "ctl", "--url", http.url, *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)

    assert json.loads(ctl("--json", "topics", "orders", "create", "--partitions", "3").stdout)["partitions"] == 3
    assert http("GET", "/topics").data == json.loads(ctl("--json", "topics").stdout)
    assert ctl("groups", "billing", "commit", "--offsets", "orders-0=42").returncode == 0
    assert ctl("clock", "advance", "--days", "8").returncode == 0
    assert "group billing: " in ctl("groups", "billing", "explain").stdout
    refused = ctl("faults", "add", "--api", "OffsetComit", "--error", "NOT_COORDINATOR")
    assert (refused.returncode, "did you mean 'OffsetCommit'" in refused.stderr) == (1, True)
