"""ListGroups (LS)."""

from collections.abc import Callable

import pytest

from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import ErrorCode
from tests.support.group_apis import GroupApis, join

MakeCall = Callable[..., Call]


def groups_of_all_kinds(make_call: MakeCall, release: str = "4.3") -> GroupApis:
    """ "live" is Stable, "left" Empty with a type, "pending" has only a handed-out id."""
    lab = GroupApis(make_call, release)
    (leaver,) = lab.stable("left")
    lab.stable("live")
    lab.ask("LeaveGroup", 0, group_id="left", member_id=leaver)
    lab.ask("JoinGroup", 9, **join("pending"))
    return lab


@pytest.mark.rules("LS-1")
@pytest.mark.parametrize("version", range(6))
def test_everything(make_call: MakeCall, version: int) -> None:
    """Groups in all states, those with nothing but a pending id too; state from v4, type from v5 on."""
    answer = groups_of_all_kinds(make_call).ask("ListGroups", version)

    stable, empty = ("Stable", "Empty") if version >= 4 else ("", "")
    assert answer.error_code == 0
    assert {group.group_id: (group.protocol_type, group.group_state) for group in answer.groups} == {
        "live": ("consumer", stable),
        "left": ("consumer", empty),
        "pending": ("", empty),
    }
    assert {group.group_type for group in answer.groups} == {"classic" if version >= 5 else ""}


@pytest.mark.rules("LS-2", "LS-3")
@pytest.mark.parametrize(
    ("states", "types", "listed"),
    [
        ([], [], {"live", "left", "pending"}),
        (["sTABLE"], [], {"live"}),
        (["Stable", "Empty"], ["CLASSIC"], {"live", "left", "pending"}),
        (["nonsense"], [], set()),
        ([""], [], set()),
        ([], ["consumer"], set()),
        ([], ["nonsense", "classic"], {"live", "left", "pending"}),
        (["Stable"], ["share"], set()),
    ],
)
def test_filters(make_call: MakeCall, states: list[str], types: list[str], listed: set[str]) -> None:
    """Both filters must match; case plays no role, unknown names match nothing."""
    answer = groups_of_all_kinds(make_call).ask("ListGroups", 5, states_filter=states, types_filter=types)

    assert {group.group_id for group in answer.groups} == listed


@pytest.mark.rules("LS-2")
@pytest.mark.parametrize(("release", "listed"), [("4.3", {"live"}), ("3.9", set())])
def test_blanks(make_call: MakeCall, release: str, listed: set[str]) -> None:
    """4.3.1 ignores blanks around a state, 3.9.1 does not."""
    answer = groups_of_all_kinds(make_call, release).ask("ListGroups", 5, states_filter=[" stable "])

    assert {group.group_id for group in answer.groups} == listed


@pytest.mark.rules("LS-4", "LD-6")
@pytest.mark.parametrize(
    ("release", "code", "listed"),
    [
        ("4.3", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, set()),
        ("3.9", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, {"live", "left"}),
    ],
)
def test_while_loading(make_call: MakeCall, release: str, code: int, listed: set[str]) -> None:
    """14 while any partition is read; 3.9.1 lists what is loaded with it."""
    lab = groups_of_all_kinds(make_call, release)
    lab.load_slowly("pending")
    answer = lab.ask("ListGroups", 5)

    assert (answer.error_code, {group.group_id for group in answer.groups}) == (code, listed)


@pytest.mark.rules("LS-4")
def test_before_anything(make_call: MakeCall) -> None:
    """A broker that coordinates nothing yet lists nothing."""
    answer = GroupApis(make_call).ask("ListGroups", 5)

    assert (answer.error_code, answer.groups) == (0, [])


@pytest.mark.rules("LS-1", "CLU-12")
def test_groups_of_other_brokers(make_call: MakeCall) -> None:
    """They are listed there, not here."""
    lab = GroupApis(make_call, node_ids=(1, 2))
    assert lab.ask("JoinGroup", 9, **join(lab.elsewhere())).error_code == ErrorCode.NOT_COORDINATOR

    assert lab.ask("ListGroups", 5).groups == []
