"""The texts that editors and type checkers offer are those that the broker takes."""

from typing import Annotated, get_args, get_origin

import pytest

from fakebroker import VirtualBroker, types
from fakebroker.broker.core.groups.kinds import GroupKind
from fakebroker.broker.engine.faults.actions import ACTIONS, APPLIED, RECEIVED
from fakebroker.broker.settings import PROFILES
from fakebroker.cli.http.schema_enums import release_names
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.protocol.wire.registry import APIS
from fakebroker.testing import literals
from fakebroker.testing.handles.group_wait import STATE_NAMES as GROUP_STATES
from fakebroker.testing.handles.transaction import STATE_NAMES as TRANSACTION_STATES

TAKEN = {
    "ApiName": {api.name for api in APIS.values()},
    "FaultAction": {*ACTIONS},
    "FaultMoment": {RECEIVED, APPLIED},
    "GroupKind": {kind.value for kind in GroupKind},
    "GroupState": {str(name) for name in GROUP_STATES},
    "Profile": {*PROFILES},
    "ReleaseName": {*release_names()},
    "TransactionState": {*TRANSACTION_STATES},
}


def declared() -> dict[str, set[str]]:
    """What type checkers read, and what calls are checked against."""
    found = {name: getattr(literals, name) for name in literals.__all__}
    return {
        name: set(get_args(hint.__origin__ if get_origin(hint) is Annotated else hint)) for name, hint in found.items()
    }


def test_the_texts_are_those_that_are_taken() -> None:
    """A state, action or release that comes or goes is declared, too."""
    assert declared() == TAKEN


@pytest.mark.parametrize("name", TAKEN)
def test_they_have_public_names(name: str) -> None:
    """For the annotations of helpers and parametrized tests."""
    assert name in types.__all__


def test_a_type_checker_finds_a_typo_and_the_broker_says_what_is_right() -> None:
    """mypy, which checks this file, demands that each of these ignores is needed."""
    with VirtualBroker() as broker:
        with pytest.raises(InvalidArgument, match="Stable"):
            broker.group("billing").wait(state="stable")  # type: ignore[arg-type]
        with pytest.raises(InvalidArgument, match="disconnect"):
            broker.fault(api="Fetch", action="disconect")  # type: ignore[arg-type]
        with pytest.raises(InvalidArgument, match="applied"):
            broker.fault(api="Fetch", action="disconnect", after="aplied")  # type: ignore[arg-type]
        with pytest.raises(InvalidArgument, match="Ongoing"):
            broker.transaction("t").wait("ongoing")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match=r"did you mean '3\.9'"):
        VirtualBroker(as_release="9.9")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="kafka"):
        VirtualBroker(profile="kafak")  # type: ignore[arg-type]
