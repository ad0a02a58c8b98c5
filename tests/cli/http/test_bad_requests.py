"""What cannot be is a problem document that names field and value; the broker's state is as before."""

import json
from typing import Any

import pytest

from tests.support.control import Client, with_control

BYTES = '; bytes that are not text are {"base64": "..."}'
TEXT = "should be a text or bytes, not"
BAD = [
    ("POST", "/clock/advance", {"days": "8"}, 422, {"field": "days", "value": "8"}),
    ("POST", "/clock/advance", {"days": True}, 422, {"field": "days", "value": True}),
    ("POST", "/clock/advance", {"days": -1}, 422, {"field": "days"}),
    ("POST", "/clock/advance", {"dayz": 8}, 422, {"field": "dayz"}),
    ("POST", "/clock/advance", [8], 422, {}),
    ("POST", "/clock/set", {"when": "soon"}, 422, {"field": "when", "value": "soon"}),
    ("POST", "/clock/set", {}, 422, {"field": "when"}),
    ("PUT", "/clock/rate", {"rate": 0}, 422, {}),
    ("PUT", "/topics/a b", {}, 422, {"error": "INVALID_TOPIC_EXCEPTION", "field": "name", "value": "a b"}),
    ("PUT", "/topics/orders", {"partitions": 0}, 422, {"field": "partitions", "value": 0}),
    ("PUT", "/topics/there", {}, 409, {"error": "TOPIC_ALREADY_EXISTS", "field": "name", "value": "there"}),
    ("PUT", "/topics/orders", {"config": {"cleanup.polic": "x"}}, 422, {"field": "config"}),
    ("PUT", "/topics/orders", {"config": {"retention.ms": [1]}}, 422, {"field": "config", "value": [1]}),
    ("GET", "/topics/ther", None, 404, {"field": "name", "value": "ther"}),
    ("DELETE", "/topics/orders", None, 404, {"error": "UNKNOWN_TOPIC_OR_PARTITION"}),
    ("POST", "/topics/there/records", {"values": []}, 422, {"field": "values"}),
    ("POST", "/topics/there/records", {"values": [1]}, 422, {"field": "values"}),
    ("POST", "/topics/there/records", {"values": [{"base64": "?"}]}, 422, {"field": "values"}),
    ("POST", "/topics/there/records", {"values": ["a"], "partition": 7}, 404, {"field": "partition", "value": 7}),
    ("POST", "/topics/nowhere/records", {"values": ["a"]}, 404, {"field": "name", "value": "nowhere"}),
    ("POST", "/topics/there/truncate", {"offset": -1}, 422, {"field": "offset", "value": -1}),
    ("POST", "/groups/g/commit", {"offsets": {"there": {"7": 1}}}, 404, {"value": {"there": {"7": 1}}}),
    ("POST", "/groups/g/wait", {"members": -1}, 422, {"field": "members", "value": -1}),
    ("GET", "/topics/there/records?partition=x", None, 422, {"field": "partition", "value": "x"}),
    ("GET", "/topics/there/records?partition=0&partition=1", None, 422, {"field": "partition"}),
    ("GET", "/topics/there/records?offset=0", None, 422, {"field": "offset"}),
    ("GET", "/groups/nobody", None, 404, {"field": "group_id", "value": "nobody"}),
    ("GET", "/groups/nobody/explain?policy=9", None, 422, {}),
    ("POST", "/groups/nobody/wait", {"state": "stable"}, 422, {}),
    ("POST", "/groups/nobody/wait", {"state": "Stable", "timeout_s": -1}, 422, {"field": "timeout_s", "value": -1.0}),
    ("POST", "/groups/nobody/wait?state=Stable", {}, 422, {"field": "state"}),
    ("POST", "/coordinators/billing/move", {"to": 9}, (404, 422), {}),
    ("GET", "/nodes/9", None, (404, 422), {}),
    ("GET", "/nodes/x", None, 422, {"field": "node_id", "value": "x"}),
    ("POST", "/nodes/9/stop", None, (404, 422), {}),
    ("GET", "/nowhere", None, 404, {}),
    ("PATCH", "/clock", {}, 405, {}),
    ("POST", "/brokers", {"nodes": 0}, 422, {"field": "nodes", "value": 0}),
    ("POST", "/brokers", {"nodes": 100_000}, 422, {"field": "nodes", "value": 100_000}),
    ("POST", "/brokers", {"node": 1}, 422, {"field": "node"}),
    ("POST", "/brokers", {"profile": "prod"}, 422, {"field": "profile", "value": "prod"}),
    ("POST", "/brokers", {"as_release": "0.8"}, 422, {"field": "as_release", "value": "0.8"}),
    ("POST", "/brokers", {"config": {"num.partition": 3}}, 422, {"field": "config", "value": {"num.partition": 3}}),
    ("POST", "/brokers", {"listen": "here"}, 422, {"field": "listen", "value": "here"}),
    ("POST", "/brokers", {"listen": "node=2,127.0.0.1:0"}, 422, {"field": "listen"}),
    ("POST", "/brokers", {"advertise": "kafka:0"}, 422, {"field": "advertise", "value": "kafka:0"}),
    ("POST", "/brokers", {"advertise": ["a:1", "b:2"]}, 422, {"field": "advertise", "value": ["a:1", "b:2"]}),
    ("POST", "/brokers", {"idle_ttl_s": -1}, 422, {"field": "idle_ttl_s", "value": -1}),
    ("GET", "/brokers/b9", None, 404, {"field": "broker_id", "value": "b9"}),
    ("GET", "/brokers/b9/clock", None, 404, {"field": "broker_id", "value": "b9"}),
    ("POST", "/faults", {"api": "OffsetComit", "error": "NOT_COORDINATOR"}, (404, 422), {"field": "api"}),
    ("POST", "/faults", {"apis": "OffsetCommit"}, 422, {"field": "apis"}),
    ("POST", "/faults", {"api": "OffsetCommit", "error": "NOT_COORDINATR"}, (404, 422), {"field": "error"}),
    ("POST", "/faults", {"api": "OffsetCommit", "delay_s": -1}, 422, {"field": "delay_s"}),
    ("POST", "/faults", {"api": "Fetch", "when": "x", "error": "NONE"}, 422, {"field": "when"}),
    ("GET", "/faults/7", None, 404, {"field": "fault_id", "value": 7}),
    ("DELETE", "/faults/7", None, 404, {"field": "fault_id", "value": 7}),
    ("GET", "/journal?api=JoinGroups", None, 404, {"field": "api", "value": "JoinGroups"}),
    ("GET", "/journal/events?kind=x", None, 404, {"field": "kind", "value": "x"}),
    ("POST", "/journal/wait", {"requests": [{"apis": "Fetch"}]}, 422, {"value": {"apis": "Fetch"}}),
    ("GET", "/journal/stream?since=x", None, 422, {"field": "since"}),
    ("GET", "/journal/stream?sinc=1", None, 422, {"field": "sinc"}),
    ("GET", "/metrics?since=1", None, 422, {"field": "since"}),
]


@pytest.mark.parametrize(("verb", "path", "body", "status", "members"), BAD)
def test_bad_input_is_named(
    verb: str, path: str, body: object, status: int | tuple[int, ...], members: dict[str, Any]
) -> None:
    """Status, field and value; nothing has changed."""

    async def test(control: Client) -> None:
        await control.do("PUT", "/topics/there")
        await control.do("POST", "/clock/freeze")
        before = [await control.get(place) for place in ("/clock", "/topics", "/groups", "/nodes", "/brokers")]
        problem = await control.problem(verb, path, body)
        assert problem["status"] in (status if isinstance(status, tuple) else (status,)), problem
        assert problem | members == problem
        assert "Traceback" not in json.dumps(problem)
        assert [await control.get(place) for place in ("/clock", "/topics", "/groups", "/nodes", "/brokers")] == before
        assert control.broker.errors == []

    with_control(test)


def test_the_nearest_spelling_is_offered() -> None:
    """Of fields, of topics, of the parts of paths."""

    async def test(control: Client) -> None:
        await control.do("PUT", "/topics/orders")
        assert "did you mean 'days'?" in (await control.problem("POST", "/clock/advance", {"dayz": 8}))["detail"]
        assert "did you mean 'orders'?" in (await control.problem("GET", "/topics/ordrs"))["detail"]
        for path, hint in {
            "/topic": "did you mean 'topics'?",
            "/topics/orders/record": "did you mean 'records'?",
            "/groups/billing/explian": "did you mean 'explain'?",
            "/brokers/b1/clocks": "did you mean 'clock'?",
            "/nowhere": "see /openapi.json",
            "/topics/orders/records/further": "see /openapi.json",
        }.items():
            assert (await control.problem("GET", path))["detail"] == f"there is nothing at {path}; {hint}"

    with_control(test)


def test_bodies_that_are_no_json() -> None:
    """400 for malformed JSON, 415 for another type, 413 for ten megabytes, with and without a length."""

    async def test(control: Client) -> None:
        json_type = {"content-type": "application/json"}
        for body in (b"{", b'{"days": NaN}', b'{"days": 1', b"\xff", b'{"days": 8}x', b'"\\ud800"'):
            problem = await control.problem("POST", "/clock/advance", content=body, headers=json_type)
            assert problem["status"] in (400, 422), body
        assert (await control.problem("POST", "/clock/advance", content=b"days=8"))["status"] == 415

        async def pieces() -> Any:
            for _ in range(10):
                yield b" " * 1_000_000

        for content in (b" " * 10_000_000, pieces()):
            problem = await control.problem("POST", "/clock/advance", content=content, headers=json_type)
            assert (problem["status"], problem["title"]) == (413, "The body is too large")

    with_control(test)


def test_a_wrong_method_says_which_are_right() -> None:
    """405 with Allow."""

    async def test(control: Client) -> None:
        answer = await control.ask("PATCH", "/topics/orders")
        assert (answer.status_code, sorted(answer.headers["allow"].split(", "))) == (405, ["DELETE", "GET", "PUT"])

    with_control(test)


def test_a_port_that_is_taken() -> None:
    """Two brokers cannot share one: 409 that names the address."""

    async def test(control: Client) -> None:
        problem = await control.problem("POST", "/brokers", {"listen": control.broker.bootstrap})
        assert problem["status"] == 409
        assert control.broker.bootstrap in problem["detail"]
        assert await control.get("/brokers") == []

    with_control(test)


@pytest.mark.parametrize(
    ("path", "body", "detail"),
    [
        (
            "/journal/wait",
            {"requests": [{"apis": "Fetch"}]},
            "requests[0]: there is no field 'apis'; did you mean 'api'?",
        ),
        ("/topics/there/records", {"values": ["a", None, 3]}, f"values[2]: {TEXT} 3{BYTES}"),
        (
            "/topics/there/records",
            {"values": ["a", {"x": 1}]},
            f"values[1]: {TEXT} {{'x': 1}}{BYTES}",
        ),
        ("/topics/there/records", {"values": ["a"], "key": [1]}, f"key: {TEXT} [1]{BYTES}"),
        (
            "/topics/there/records",
            {"values": ["a"], "headers": {"h": 5}},
            f"headers['h']: {TEXT} 5{BYTES}",
        ),
        ("/topics/there/records", {"values": [{"base64": 5}]}, "values[0]['base64']: should be a text, not 5"),
        ("/topics/there/records", {"values": []}, "values: should have at least 1 element"),
        (
            "/brokers",
            {"config": {"a.b": [1]}},
            "config['a.b']: should be a text, number, true, false or null, not a list",
        ),
        (
            "/coordinators/g/load",
            {"for_s": None},
            "for_s: should be a number of seconds from 0 to 1000000000, not null",
        ),
    ],
)
def test_the_place_in_the_body_is_named(path: str, body: object, detail: str) -> None:
    """Of what stands in a list or an object, in the words of JSON."""

    async def test(control: Client) -> None:
        assert (await control.problem("POST", path, body))["detail"] == detail

    with_control(test)


def test_a_taken_port_is_named() -> None:
    """Two brokers cannot have one port; nothing of the second is left."""

    async def test(control: Client) -> None:
        taken = await control.get("/bootstrap")
        problem = await control.problem("POST", "/brokers", {"listen": taken})
        assert (problem["status"], problem["field"], problem["value"]) == (409, "listen", [taken])
        assert await control.get("/brokers") == []

    with_control(test)


def test_a_file_that_is_no_journal_is_refused() -> None:
    """The problem names the line, and no file of the broker's machine."""

    async def test(control: Client) -> None:
        answer = await control.ask("POST", "/journal/diff", content=b"no journal")
        assert answer.status_code == 422
        assert answer.json()["detail"] == "the body, line 1: not JSON: Expecting value: line 1 column 1 (char 0)"

    with_control(test)
