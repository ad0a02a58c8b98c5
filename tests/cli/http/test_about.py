"""What a page asks first: which broker this is, and the names that its forms offer."""

from fakebroker.broker.engine.faults.fields import FIELDS
from fakebroker.protocol.errors import ErrorCode
from tests.support.control import Client, with_control


def test_which_broker_this_is() -> None:
    """The served one, and an isolated one by its own path; the run is that of the process."""

    async def test(control: Client) -> None:
        about = await control.get("/about")
        assert (about["bootstrap"], about["nodes"], about["release"]) == (control.broker.bootstrap, [1], "4.3.1")
        assert (about["is_running"], about["is_read_only"], about["broker_id"], about["brokers"]) == (
            True, False, None, []
        )  # fmt: skip
        added = await control.do("POST", "/brokers", {"nodes": 2})
        isolated = await control.get(f"/brokers/{added['broker_id']}/about")
        assert (isolated["broker_id"], isolated["nodes"], isolated["run"]) == (added["broker_id"], [1, 2], about["run"])
        assert (await control.get("/about"))["brokers"] == [added["broker_id"]]

    with_control(test)


def test_names_are_those_that_the_broker_takes() -> None:
    """A fault can be made of every API and error that is named, and of every field but functions."""

    async def test(control: Client) -> None:
        names = await control.get("/names")
        for api in names["apis"]:
            await control.do(
                "POST", "/faults", {"api": api["name"], "version": api["versions"][1], "error": "NOT_COORDINATOR"}
            )
        assert {each["code"] for each in names["errors"]} == {int(code) for code in ErrorCode if code}
        fields = {each["name"] for each in names["fault_fields"]}
        assert set(FIELDS) - fields == {"when", "run"}
        assert {"transition", "request"} <= {each["name"] for each in names["kinds"]}
        assert {"Stable", "Reconciling"} <= set(names["group_states"])
        for action in names["actions"]:
            assert action["about"]
        assert names["moments"] == ["received", "applied"]

    with_control(test)
