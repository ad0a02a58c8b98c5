"""Scenarios by HTTP: played in virtual time, or on the served broker while clients are connected."""

import json
from typing import Any

import httpx

from tests.support.control import Client, with_control

REFUSED_ONCE = """\
about: One commit is refused.
parameters: {offset: 1}
topics: {orders: {partitions: 1}}
actors: [a]
timeline:
  - {fault: {api: OffsetCommit, error: NOT_COORDINATOR, times: 1}, as: refused}
  - {a: commit, group_id: billing, offsets: {orders-0: "${offset}"}, expect: {error: NOT_COORDINATOR}}
  - {a: commit, group_id: billing, offsets: {orders-0: "${offset}"}, expect: {error: NONE}}
  - {expect: {group: billing, offsets: {orders-0: 1}}}
"""
WEEK = """\
about: A week passes.
actors: [a]
topics: {orders: {partitions: 1}}
timeline:
  - {a: commit, group_id: billing, offsets: {orders-0: 1}}
  - pass: 8d
  - {expect: {group: billing, state: Dead}}
"""
ENDLESS = """\
about: It waits for a group that never comes.
timeline:
  - {wait: {group: nobody, state: Stable}, within: 1d}
"""


def scenario(text: str, **more: Any) -> dict[str, Any]:
    return {"scenario": text, **more}


def test_in_virtual_time_the_answer_is_the_result() -> None:
    """Eight days are over at once, on a broker of their own; the served one is as it was."""

    async def test(client: Client) -> None:
        answer = await client.ask("POST", "/scenarios", scenario(WEEK, virtual=True))
        play = answer.json()

        assert answer.status_code == 200
        assert (play["state"], play["problems"], play["steps"]) == ("passed", [], 3)
        assert "+8d 00:00:00.000" in play["transcript"]
        assert await client.get("/topics") == []

    with_control(test)


def test_on_the_served_broker_it_is_played_in_the_background() -> None:
    """202 at once, with its topics there; the result is waited for."""

    async def test(client: Client) -> None:
        answer = await client.ask("POST", "/scenarios", scenario(REFUSED_ONCE))
        assert (answer.status_code, answer.headers["location"]) == (202, "/scenarios/p1")
        assert client.broker.topic("orders").exists

        play = await client.do("POST", "/scenarios/p1/wait", {"timeout_s": 20})
        assert (play["state"], play["problems"], play["steps"]) == ("passed", [], 4)
        assert "a <- OffsetCommit" in play["transcript"]
        assert client.broker.group("billing").offsets == {("orders", 0): 1}
        assert await client.get("/scenarios/p1") == play
        (listed,) = await client.get("/scenarios")
        assert listed == {name: value for name, value in play.items() if name != "transcript"}

    with_control(test)


def test_what_fails_is_reported() -> None:
    """The state, the problem with its line; waiting for it is no error."""

    async def test(client: Client) -> None:
        await client.ask("POST", "/scenarios", scenario(REFUSED_ONCE, parameters={"offset": 2}))
        play = await client.do("POST", "/scenarios/p1/wait", {"timeout_s": 20})

        assert play["state"] == "failed"
        assert len(play["problems"]) == 1
        assert play["problems"][0].startswith("scenario:9: expect: {group: billing")

    with_control(test)


def test_people_get_text() -> None:
    """The transcript, then how it ended."""

    async def test(client: Client) -> None:
        answer = await client.ask("POST", "/scenarios", scenario(WEEK, virtual=True), headers={"accept": "text/plain"})

        assert answer.headers["content-type"].startswith("text/plain")
        assert answer.text.startswith("scenario: A week passes.\n")
        assert answer.text.endswith("\np1 passed\n")

    with_control(test)


def test_one_that_goes_on_is_waited_for_in_vain_and_ended() -> None:
    """The wait names the step that it is at; DELETE ends it at once, and it is not known any more."""

    async def test(client: Client) -> None:
        await client.ask("POST", "/scenarios", scenario(ENDLESS))
        problem = await client.problem("POST", "/scenarios/p1/wait", {"timeout_s": 0.3})
        assert problem["status"] == 408
        assert "it is at scenario:3: wait: {group: nobody, state: Stable}" in problem["detail"]

        await client.do("DELETE", "/scenarios/p1")
        assert (await client.problem("GET", "/scenarios/p1"))["status"] == 404
        assert (await client.problem("DELETE", "/scenarios/p1"))["status"] == 404

    with_control(test)


def test_scenarios_end_with_the_control_server() -> None:
    """Nothing hangs, no thread goes on."""

    async def test(client: Client) -> None:
        await client.ask("POST", "/scenarios", scenario(ENDLESS))
        await client.ask(
            "POST",
            "/scenarios",
            scenario(
                ENDLESS.replace("wait: {group: nobody, state: Stable}, within", "pass").replace(
                    "{pass: 1d}", "pass: 1d"
                )
            ),
        )

    with_control(test)


def test_an_isolated_broker_has_scenarios_of_its_own() -> None:
    """The path names the broker that it is played on."""

    async def test(client: Client) -> None:
        made = await client.do("POST", "/brokers", {})
        answer = await client.ask("POST", f"/brokers/{made['broker_id']}/scenarios", scenario(REFUSED_ONCE))
        play = await client.do("POST", f"{answer.headers['location']}/wait", {"timeout_s": 20})

        assert play["state"] == "passed", play
        assert not client.broker.topic("orders").exists

    with_control(test)


def test_a_text_that_is_no_scenario_is_refused() -> None:
    """With every problem, each with its line."""

    async def test(client: Client) -> None:
        problem = await client.problem("POST", "/scenarios", scenario("about: x\nactor: [a]\ntimeline: []\nseed: x\n"))

        assert (problem["status"], problem["field"]) == (422, "scenario")
        assert any("scenario:2: actor" in each for each in problem["problems"])
        assert len(problem["problems"]) >= 2

    with_control(test)


def test_includes_are_refused() -> None:
    """A caller reads no files of the host."""

    async def test(client: Client) -> None:
        text = "about: x\ntimeline:\n  - {include: /etc/passwd}\n"
        problem = await client.problem("POST", "/scenarios", scenario(text, virtual=True))

        assert problem["status"] == 422
        assert "include" in problem["detail"]
        assert "root:" not in json.dumps(problem)

    with_control(test)


def test_a_scenario_that_the_broker_contradicts_is_refused() -> None:
    """What it needs, and what there is."""

    async def test(client: Client) -> None:
        for line, play in (
            ("nodes: 3", "needs nodes 3"),
            ('release: "3.9"', "needs release 3.9"),
            ("config: {offsets.retention.minutes: 5}", "needs config offsets.retention.minutes 5"),
            ("topics: {orders: {partitions: 2}}", "needs topic orders 2 partitions"),
        ):
            client.broker.topic("orders").exists or client.broker.create_topic("orders", 1)
            problem = await client.problem("POST", "/scenarios", scenario(f"{line}\n{ENDLESS}"))
            assert (problem["status"], problem["field"]) == (422, "scenario")
            assert play in problem["detail"]
        assert await client.get("/scenarios") == []

    with_control(test)


def test_bad_bodies_are_refused() -> None:
    """Each with the field that is wrong."""

    async def test(client: Client) -> None:
        for body, field in (
            ({}, "scenario"),
            ({"scenario": 5}, "scenario"),
            ({"scenario": WEEK, "sead": 5}, "sead"),
            ({"scenario": WEEK, "seed": "x"}, "seed"),
            ({"scenario": WEEK, "virtual": "yes"}, "virtual"),
        ):
            problem = await client.problem("POST", "/scenarios", body)
            assert (problem["status"], problem["field"]) == (422, field)

    with_control(test)


def test_too_many_at_once_are_refused() -> None:
    """Each has a thread."""

    async def test(client: Client) -> None:
        for _ in range(16):
            assert (await client.ask("POST", "/scenarios", scenario(ENDLESS))).status_code == 202
        assert (await client.problem("POST", "/scenarios", scenario(ENDLESS)))["status"] == 409
        await client.do("DELETE", "/scenarios/p3")
        assert (await client.ask("POST", "/scenarios", scenario(ENDLESS))).status_code == 202

    with_control(test)


def test_an_isolated_broker_has_all_paths_of_scenarios() -> None:
    """A helper that puts its broker's path before each path finds what it sent, and nothing of others."""

    async def test(client: Client) -> None:
        made = await client.do("POST", "/brokers", {})
        above = f"/brokers/{made['broker_id']}"
        await client.ask("POST", "/scenarios", scenario(ENDLESS))
        answer = await client.ask("POST", f"{above}/scenarios", scenario(ENDLESS))
        there = answer.headers["location"]

        assert there == f"{above}/scenarios/p2"
        assert [each["scenario_id"] for each in await client.get(f"{above}/scenarios")] == ["p2"]
        brokers = {each["scenario_id"]: each["broker_id"] for each in await client.get("/scenarios")}
        assert brokers == {"p1": None, "p2": made["broker_id"]}
        assert (await client.problem("POST", f"{there}/wait", {"timeout_s": 0.1}))["status"] == 408
        assert (await client.problem("GET", f"{above}/scenarios/p1"))["status"] == 404
        assert (await client.problem("GET", "/brokers/b9/scenarios"))["field"] == "broker_id"
        await client.do("DELETE", there)
        assert await client.get(f"{above}/scenarios") == []

    with_control(test)


def test_reset_ends_what_is_played_on_the_broker() -> None:
    """It would go on in the next test. What is played elsewhere goes on."""

    async def test(client: Client) -> None:
        made = await client.do("POST", "/brokers", {})
        await client.ask("POST", "/scenarios", scenario(ENDLESS))
        await client.ask("POST", f"/brokers/{made['broker_id']}/scenarios", scenario(ENDLESS))
        await client.do("POST", "/reset")

        assert [each["state"] for each in await client.get("/scenarios")] == ["cancelled", "playing"]
        assert (await client.get("/scenarios/p1"))["problems"] == []

    with_control(test)


def test_a_text_has_the_name_that_it_was_sent_with() -> None:
    """Places of problems and steps are the caller's file."""

    async def test(client: Client) -> None:
        problem = await client.problem("POST", "/scenarios", scenario("about: x\n", name="tests/x.yaml"))
        assert problem["problems"] == ["tests/x.yaml:1: timeline: this key is missing"]
        play = await client.do("POST", "/scenarios", scenario(WEEK, name="tests/x.yaml", virtual=True))
        assert play["step"] == "tests/x.yaml:7: expect: {group: billing, state: Dead}"

    with_control(test)


def test_the_body_may_be_the_file_itself() -> None:
    """As YAML, with the other fields in the query; what is wrong with it is reported as always."""

    async def test(client: Client) -> None:
        async def send(text: str | bytes, query: str, media_type: str = "application/yaml") -> httpx.Response:
            headers = {"content-type": media_type}
            return await client.http.post(f"/scenarios{query}", content=text, headers=headers)

        play = (await send(WEEK, "?virtual=true&seed=3&name=week.yaml", "text/yaml; charset=utf-8")).json()
        assert (play["state"], play["step"][:9]) == ("passed", "week.yaml")
        assert (await send(WEEK, "")).status_code == 202
        for text, query, field in (
            (WEEK, "?virtual=maybe", "virtual"),
            (WEEK, "?sead=1", "sead"),
            (WEEK, "?parameters=x", "parameters"),
            (b"about: \xff", "", "scenario"),
            ("", "", "scenario"),
        ):
            answer = await send(text, query)
            assert (answer.status_code, answer.json()["field"]) == (422, field)
        json_and_query = await client.problem("POST", "/scenarios?virtual=true", scenario(WEEK))
        assert (json_and_query["status"], json_and_query["field"]) == (422, "virtual")

    with_control(test)
