"""What clients pushed, read over HTTP: numbers that JSON does not have are texts, and spoil nothing else."""

from struct import pack

import pytest

from fakebroker.broker.core.telemetry.client_telemetry import Push
from tests.support.control import Client, with_control
from tests.support.pushed_metrics import field, gauge, point, pushed

NO_NUMBERS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


def push(control: Client, client_id: str, payload: bytes) -> None:
    """What a client of its own pushed."""
    instance_id = client_id.encode().ljust(16)
    control.broker._engine.cluster.telemetry.keep(Push(instance_id, client_id, "User:a", 1, 0, False, payload))


def with_attribute(value: float) -> bytes:
    """A point whose attribute is a number, too."""
    number = bytes([4 << 3 | 1]) + pack("<d", value)
    return point(value) + field(7, field(1, b"share") + field(2, number))


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_json_has_no_number_for_is_a_text(text: str) -> None:
    """A value or an attribute that is no number of JSON is shown by its name, and the others as ever."""

    async def test(control: Client) -> None:
        control.broker.telemetry.subscribe("all")
        push(control, "a", pushed(gauge("org.n", with_attribute(NO_NUMBERS[text]))))
        push(control, "b", pushed(gauge("org.n", point(1.5))))
        expected = [("a", text, {"share": text}), ("b", 1.5, {})]

        metrics = await control.get("/telemetry/metrics")
        assert [(each["client_id"], each["value"], each["attributes"]) for each in metrics] == expected
        pushes = await control.get("/telemetry/pushes")
        assert [each["metrics"][0]["value"] for each in pushes] == [text, 1.5]
        assert await control.do("POST", "/telemetry/wait", {"timeout_s": 1}) == metrics

    with_control(test)


@pytest.mark.parametrize("entries", [1, 100])
def test_short_and_long_answers_write_it_alike(entries: int) -> None:
    """However many metrics there are."""

    async def test(control: Client) -> None:
        push(control, "a", pushed(*(gauge(f"org.n{index}", point(float("nan"))) for index in range(entries))))
        metrics = await control.get("/telemetry/metrics")
        assert [each["value"] for each in metrics] == ["NaN"] * entries

    with_control(test)


def test_the_document_says_so() -> None:
    """The schema of a metric's value takes what is answered."""

    async def test(control: Client) -> None:
        document = await control.get("/openapi.json")
        value = document["components"]["schemas"]["MetricValue"]["properties"]["value"]
        assert [each.get("enum", each["type"]) for each in value["anyOf"]] == ["number", list(NO_NUMBERS)]

    with_control(test)
