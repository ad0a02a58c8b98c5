"""The language says everything that clients and the object model can do, and nothing else."""

from collections.abc import Iterator
from typing import get_origin

from fakebroker.cli.http.operations import OPERATIONS, PYTHON_ONLY_ARGUMENTS
from fakebroker.client.steps import ClientSteps
from fakebroker.protocol.arguments.signatures import data_kind
from fakebroker.scenarios.language.actor_verbs import ActorVerbs
from fakebroker.scenarios.language.declaration import (
    ALL_WORDS,
    FILE_KEYS,
    NOT_IN_SCENARIOS,
    STEP_KEYS,
    WORDS,
    Verb,
    actor_verbs,
    fault_fields,
    keys_beside,
)
from fakebroker.testing.broker import AsyncFakeBroker
from fakebroker.testing.handles.broker_control import BrokerControl
from fakebroker.testing.reflection.members import Member, find, members_of, parameters_of, reachable_handles


def reached() -> set[str]:
    """The members of the object model that a word reaches, as "GroupHandle.wait"."""
    return {f"{word.owner.__name__}.{verb}" for word in WORDS.values() for verb in word.verbs}


def named(member: Member) -> str:
    """A member as its word has it: brokers of all kinds have the powers of one class."""
    is_power = issubclass(member.owner, BrokerControl) and member.name in members_of(BrokerControl)
    return f"BrokerControl.{member.name}" if is_power else str(member)


def test_every_power_is_reachable() -> None:
    """What HTTP offers is a verb of a word here, or is listed with a reason."""
    powers = {named(row.members[-1]) for row in OPERATIONS}

    assert sorted(powers - reached() - NOT_IN_SCENARIOS.keys()) == []


def test_every_member_of_every_handle_is_reachable() -> None:
    """So is what the handles have beside."""
    members = {named(member) for owner in reachable_handles() for member in members_of(owner).values()}
    of_words = {word.owner.__name__ for word in WORDS.values()}
    elsewhere = {name for name in members if name.partition(".")[0] not in of_words}

    assert sorted(members - elsewhere - reached() - NOT_IN_SCENARIOS.keys() - identities()) == []
    assert {name.partition(".")[0] for name in elsewhere} == {
        "DelegationTokenHandle",
        "DiskFault",
        "Expectation",
        "NetworkFault",
    }


def identities() -> set[str]:
    """What says which one a handle is."""
    return {f"{word.owner.__name__}.{name}" for word in WORDS.values() for name, _ in word.identity}


def test_no_exception_is_needless() -> None:
    """Everything in the list of exceptions is there, and not reached."""
    known = {
        named(member) for owner in (AsyncFakeBroker, *reachable_handles()) for member in members_of(owner).values()
    }

    assert sorted(NOT_IN_SCENARIOS.keys() - known) == []
    assert sorted(NOT_IN_SCENARIOS.keys() & reached()) == []


def test_every_verb_leads_to_its_power() -> None:
    """The powers that steps name are there."""
    for word in WORDS.values():
        for verb in word.verbs.values():
            way = {"fault": "fault_by_id", "hold": "group.holds[]"}.get(word.name, word.power)
            assert find(f"{way}.{verb.name}".removeprefix("."))[-1].name == verb.name


def test_actors_take_every_step_of_the_scripted_client() -> None:
    """A step that is added to the client is a verb here."""
    from collections.abc import Generator

    flows = {name for name, each in members_of(ClientSteps).items() if get_origin(each.returns) is Generator}

    assert flows - actor_verbs().keys() == {"ask", "log_in_first", "version_of"}
    assert members_of(ActorVerbs).keys() <= actor_verbs().keys()


def all_verbs() -> Iterator[tuple[str, Verb, Member]]:
    for name, verb in actor_verbs().items():
        yield "an actor", verb, {**members_of(ClientSteps), **members_of(ActorVerbs)}[name]
    for word in WORDS.values():
        for verb in word.verbs.values():
            yield word.name, verb, members_of(word.owner)[verb.name]
    yield "fault", fault_fields(), members_of(BrokerControl)["fault"]


def test_every_argument_can_be_said() -> None:
    """An argument that a text cannot say is a Python function or object, and listed where HTTP lists its own."""
    unsaid = set()
    for _, verb, member in all_verbs():
        parameters = [] if member.is_property and not member.is_settable else parameters_of(member)
        names = {p.name for p in parameters} - {each.parameter for each in verb.arguments}
        unsaid |= {f"AsyncFakeBroker.{member.name}({name})" for name in names}

    assert unsaid - PYTHON_ONLY_ARGUMENTS.keys() == set()


def test_keys_mean_one_thing() -> None:
    """No two arguments have one key, and none has the key of something else."""
    for word, verb, _ in all_verbs():
        keys = [each.key for each in verb.arguments]

        assert len(keys) == len(set(keys)), (word, verb.name)
        assert set(keys) & set(keys_beside(verb)) == set(), (word, verb.name)
        assert verb.about, (word, verb.name)


def test_words_and_keys_are_apart() -> None:
    """A word of the broker is no key that every step may have."""
    assert set(ALL_WORDS) & STEP_KEYS.keys() == {"expect"}
    assert all(key.about for key in [*FILE_KEYS.values(), *STEP_KEYS.values()])


def test_types_that_no_text_can_say_have_no_kind() -> None:
    """Functions, classes and objects of Python."""
    from collections.abc import Callable

    assert [data_kind(hint) for hint in (Callable[[int], str], type[int], object(), BrokerControl)] == [
        None,
        None,
        None,
        None,
    ]
