"""The language of scenario files, declared once: checks, the JSON Schema and the reference are made of it.

What actors can do is read from the scripted client's steps, what can be done to the broker from the object model.
"""

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import cache
from inspect import Parameter
from typing import Any, NamedTuple, get_args, get_origin

from fakebroker.broker.settings.settings import find_topic
from fakebroker.broker.settings.table import TOPIC, TOPIC_BEFORE_4
from fakebroker.client.login_steps import Mechanism
from fakebroker.client.steps import ClientSteps
from fakebroker.protocol.arguments.forms import Form
from fakebroker.protocol.arguments.kinds import (
    FLAG,
    NAME,
    NULL,
    SCALAR,
    SECRET,
    TEXT,
    WHOLE,
    Choice,
    Kind,
    OfType,
    Whole,
    WrongValue,
)
from fakebroker.protocol.arguments.signatures import data_kind
from fakebroker.protocol.arguments.structures import PARTITION, ListOf, OneOf, TableOf
from fakebroker.protocol.durations import DURATION, duration_ms
from fakebroker.protocol.errors import SettingError
from fakebroker.scenarios.language.actor_verbs import ActorVerbs
from fakebroker.scenarios.language.kinds import DURATION_MS
from fakebroker.scenarios.language.signatures import Argument, arguments_of
from fakebroker.testing.acl_option import AclDeclaration
from fakebroker.testing.handles.acls import AclsHandle
from fakebroker.testing.handles.broker_control import BrokerControl
from fakebroker.testing.handles.clock import ClockHandle
from fakebroker.testing.handles.coordinator import CoordinatorHandle, TransactionCoordinatorHandle
from fakebroker.testing.handles.fault import FaultHandle
from fakebroker.testing.handles.group import GroupHandle
from fakebroker.testing.handles.hold import HoldHandle
from fakebroker.testing.handles.journal import JournalHandle
from fakebroker.testing.handles.node import NodeHandle
from fakebroker.testing.handles.partition import PartitionHandle
from fakebroker.testing.handles.quotas import QuotasHandle
from fakebroker.testing.handles.telemetry import TelemetryHandle
from fakebroker.testing.handles.topic import TopicHandle
from fakebroker.testing.handles.transaction import TransactionHandle
from fakebroker.testing.handles.users import UsersHandle
from fakebroker.testing.reflection.members import Member, handles_in, members_of, parameters_of
from fakebroker.testing.releases import Settings


class SettingTable(TableOf):
    """A mapping of settings, checked where the file is read.

    `check` raises SettingError for an unknown name or an invalid value.
    """

    def __init__(self, check: Callable[[str, Any], object]) -> None:
        super().__init__(SCALAR)
        self._check = check

    def value(self, value: Any, form: Form) -> Any:
        """The settings."""
        made = super().value(value, form)
        for name, each in made.items():
            try:
                self._check(name, each)
            except SettingError as error:
                raise WrongValue(each, str(error), (name,), is_key=True) from None
        return made


BROKER_SETTINGS = SettingTable(lambda name, value: Settings({name: value}))
TOPIC_SETTINGS = SettingTable(lambda name, _value: find_topic(name, {**TOPIC, **TOPIC_BEFORE_4}))


LANGUAGE_VERSION = 1
"""Changes when a key, a word or a default is removed or changes its meaning."""
DEFAULT_RELEASE = "4.3"
DEFAULT_JITTER_MS = (0, 5)
MAX_TIMES = 10_000  # of a repeat
MAX_STEPS = 100_000  # that a scenario takes, repeats counted

# What has no word of its own in a scenario, and why; tests/scenarios/language/test_declaration.py fails for a power
# that is in neither.
NOT_IN_SCENARIOS: dict[str, str] = {
    "BrokerControl.wait": "takes Python functions; use `wait`",
    "BrokerControl.clock": "the word `clock`",
    "BrokerControl.topic": "the word `topic`",
    "BrokerControl.group": "the word `group`",
    "BrokerControl.coordinator": "the word `coordinator`",
    "BrokerControl.transaction": "the word `transaction`",
    "BrokerControl.transaction_coordinator": "the word `transaction_coordinator`",
    "BrokerControl.node": "the word `node`",
    "BrokerControl.journal": "the word `journal`",
    "BrokerControl.fault": "the word `fault`",
    "BrokerControl.quotas": "the word `quotas`",
    "BrokerControl.users": "the word `users`",
    "UsersHandle.token": "use `request: DescribeDelegationToken`",
    "UsersHandle.tokens": "use `request: DescribeDelegationToken`",
    "UsersHandle.create_token": "use `request: CreateDelegationToken` of an actor",
    "DelegationTokenHandle.expire": "use `request: ExpireDelegationToken` of an actor",
    "BrokerControl.acls": "the word `acls`",
    "BrokerControl.telemetry": "the word `telemetry`",
    "BrokerControl.fault_by_id": "the word `fault`, with the name of the fault",
    "TopicHandle.partition": "the word `partition`",
    "AsyncFakeBroker.reset": "a scenario begins with a broker of its own",
    "AsyncFakeBroker.bootstrap": "addresses differ from run to run",
    "AsyncFakeBroker.bootstrap_of": "addresses differ from run to run",
    "AsyncFakeBroker.is_running": "it runs during the whole scenario",
    "NodeHandle.address": "addresses differ from run to run",
    "JournalHandle.entries": "Python objects; `journal: rows` has the same",
    "JournalHandle.expect": "use `expect: {journal: [...]}`",
    "JournalHandle.save": "scenarios write no files",
    "JournalHandle.export_trace": "scenarios write no files",
    "JournalHandle.export_pcap": "scenarios write no files",
    "JournalHandle.diff": "scenarios read no files",
}


class Verb(NamedTuple):
    """What can stand after a word: `subject` is what its text goes on with, `arguments` are the other keys."""

    name: str
    about: str
    arguments: tuple[Argument, ...] = ()
    subject: Argument | None = None
    takes_partition: bool = False  # whether the subject is "orders-0" for the arguments topic and partition
    power: str = ""  # of the object model, "" for what an actor does
    gives: str = ""  # what `as` names: "fault", "hold", "snapshot", "value"; "" for nothing
    takes_many: bool = False  # whether the subject is the first of a list
    takes_amount: bool = False  # whether the subject is an amount of time, for which there are other keys, too

    @property
    def required(self) -> list[str]:
        """The parameters that must be given."""
        return list(dict.fromkeys(each.parameter for each in self.arguments if each.is_required))


class Word(NamedTuple):
    """A word for something of the broker: the handle it means, and what says which one."""

    name: str
    about: str
    owner: type
    power: str  # the way to the handle in the object model
    identity: tuple[tuple[str, Kind], ...] = ()
    is_saved: bool = False  # whether the identity is a name that an earlier step gave with `as`

    @property
    def verbs(self) -> Mapping[str, Verb]:
        """What can be done there, by name."""
        return _verbs_of(self.name)


_WORDS = (
    Word("clock", "the broker's time of day", ClockHandle, "clock"),
    Word("topic", "a topic", TopicHandle, "topic", (("name", NAME),)),
    Word("partition", "a partition of a topic", PartitionHandle, "topic.partition", (("", PARTITION),)),
    Word("group", "a group of any type", GroupHandle, "group", (("group_id", TEXT),)),
    Word("coordinator", "the coordinator of a group", CoordinatorHandle, "coordinator", (("group_id", TEXT),)),
    Word("transaction", "a transactional id", TransactionHandle, "transaction", (("transactional_id", TEXT),)),
    Word(
        "transaction_coordinator",
        "the coordinator of a transactional id",
        TransactionCoordinatorHandle,
        "transaction_coordinator",
        (("transactional_id", TEXT),),
    ),
    Word("node", "one broker of the cluster", NodeHandle, "node", (("node_id", WHOLE),)),
    Word("fault", "a fault that is set, or has a name", FaultHandle, "fault", (("", TEXT),), is_saved=True),
    Word("hold", "a hold of a group's joins or syncs", HoldHandle, "hold", (("", TEXT),), is_saved=True),
    Word("quotas", "the quotas of clients", QuotasHandle, "quotas"),
    Word("users", "the users that can log in", UsersHandle, "users"),
    Word("acls", "the access control lists", AclsHandle, "acls"),
    Word("telemetry", "the metrics that clients push", TelemetryHandle, "telemetry"),
    Word("broker", "the broker as a whole", BrokerControl, ""),
    Word("journal", "what happened", JournalHandle, "journal"),
)
WORDS: Mapping[str, Word] = {word.name: word for word in _WORDS}
OTHER_WORDS: Mapping[str, str] = {
    "expect": "what must hold now",
    "wait": "what must hold within a time (`within`, by default 10s)",
    "pass": "let time pass, with all timers: a duration, or a range that a seed draws from (3s..5s)",
    "any_order": "a list of steps in any order",
    "repeat": "how often to take the list of `steps`",
    "include": "another file, whose timeline is inserted here; `with` sets its parameters",
}
ALL_WORDS = (*WORDS, *OTHER_WORDS)


class Key(NamedTuple):
    """A key of a file, an actor or a step."""

    kind: Kind | None  # None for what reading.py reads by itself
    about: str
    is_required: bool = False


def _range(text: str) -> tuple[int, int]:
    least, dots, most = text.partition("..")
    low = duration_ms(least)
    high = duration_ms(most) if dots else low
    if high < low:
        raise ValueError("runs from more to less")
    return low, high


_RANGE_SCHEMA = {"type": "string", "pattern": rf"^{DURATION}(\.\.{DURATION})?$"}
RANGE_MS = OfType("a duration, or a range of them (3s..5s)", (str,), _RANGE_SCHEMA, _range)
TEXTS = OneOf([TEXT, ListOf(TEXT)])

_ACL = data_kind(AclDeclaration)
assert _ACL is not None

FILE_KEYS: Mapping[str, Key] = {
    "about": Key(TEXT, "What happens in the scenario, in a sentence or two.", is_required=True),
    "schema_version": Key(
        Whole(LANGUAGE_VERSION, LANGUAGE_VERSION), f"The version of this language. [{LANGUAGE_VERSION}]"
    ),
    "source": Key(TEXTS, "Its sources: KIPs, issues, rules; one or a list."),
    "release": Key(TEXT, f'The Kafka release to emulate, in quotes: "2.0". [{DEFAULT_RELEASE}]'),
    "profile": Key(Choice(["test", "kafka"]), "The set of default settings. [test]"),
    "nodes": Key(Whole(1, 1000), "The number of brokers. [1]"),
    "racks": Key(ListOf(OneOf([TEXT, NULL]), 1), "The rack of each broker, in order; then `nodes` may be left out."),
    "config": Key(BROKER_SETTINGS, "Broker settings by their Kafka names."),
    "seed": Key(Whole(0), "The seed of all random ids. [0]"),
    "jitter": Key(RANGE_MS, "With --seeds: the range of the pause before each step. [0ms..5ms]"),
    "parameters": Key(None, 'Names and values: "${name}" is replaced by the value in anything below.'),
    "users": Key(
        TableOf(SECRET), "Passwords by user: {alice: secret}; with users every client must log in, with PLAIN or SCRAM."
    ),
    "acls": Key(
        ListOf(_ACL),
        "Rights: [{allow: User:alice, operation: READ, topic: orders}]; with them, also with [], an authorizer refuses "
        "everything else, but to `super.users`.",
    ),
    "topics": Key(None, "Topics that exist at the start, with their partitions and settings."),
    "actors": Key(None, "The scripted clients: a list of names, or a mapping of names to what they are."),
    "timeline": Key(None, "The steps, in their order.", is_required=True),
}
INCLUDED_KEYS = ("about", "schema_version", "source", "parameters", "topics", "actors", "timeline")
ACTOR_KEYS: Mapping[str, Key] = {
    "client_id": Key(TEXT, "Its client id; its name unless given."),
    "versions": Key(TableOf(Whole(0, 100)), "APIs pinned to versions: {JoinGroup: 4}."),
    "node": Key(Whole(1), "The broker that it connects to; by default the first."),
    "user": Key(NAME, "The user that its connections log in as; needs `password`."),
    "password": Key(SECRET, "The password of its user."),
    "mechanism": Key(Choice(get_args(Mechanism)), "The mechanism of its login. [PLAIN; with a token OAUTHBEARER]"),
    "token": Key(SECRET, "The token of its OAUTHBEARER login."),
}
NOTE = Key(TEXT, "A remark for the transcript.")
STEP_KEYS: Mapping[str, Key] = {
    "note": NOTE,
    "expect": Key(None, "What the answer, or the returned value, must be."),
    "save": Key(TableOf(TEXT), "Names for parts of the answer: {first: member_id}; $first is replaced by it below."),
    "later": Key(FLAG, "Do not wait for the answer; `answered` waits for it."),
    "as": Key(NAME, "A name for the result: a fault, a hold, a snapshot, a value."),
    "within": Key(DURATION_MS, "How long to wait. [10s]"),
    "with": Key(None, "The parameters of the included file."),
    "steps": Key(None, "The steps to repeat."),
}
CLIENT_STEP_KEYS = ("note", "expect", "save", "later")
POWER_STEP_KEYS = ("note", "expect", "as")
_WHAT_IT_RAISES = re.compile(r"Raises [^.]*\.(?=\s|$)")
WITHOUT_ANSWER = ("silent", "consume", "pause", "resume", "stop", "disconnect", "connect")
_NOT_STEPS = ("ask", "version_of", "request", "log_in_first")
SPECIAL_VERBS = ("request", "answered", "silent")


def keys_beside(verb: Verb) -> tuple[str, ...]:
    """The keys that every step with this verb may have, beside its arguments."""
    if verb.power:
        return POWER_STEP_KEYS
    if verb.name in WITHOUT_ANSWER:
        return ("note",)
    return ("note", "expect", "save") if verb.name == "answered" else CLIENT_STEP_KEYS


@cache
def actor_verbs() -> Mapping[str, Verb]:
    """What an actor can do, by name: the steps of the scripted client, then what the player adds."""
    steps = {name: member for name, member in members_of(ClientSteps).items() if _is_step(member)}
    both = {**steps, **members_of(ActorVerbs)}
    return {name: _verb(name, member) for name, member in both.items()}


def _is_step(member: Member) -> bool:
    return not member.is_property and member.name not in _NOT_STEPS and get_origin(member.returns) is Generator


@cache
def _verbs_of(name: str) -> Mapping[str, Verb]:
    word = WORDS[name]
    found: dict[str, Verb] = {}
    for member in members_of(word.owner).values():
        if str(member) not in NOT_IN_SCENARIOS and not _is_identity(word, member):
            power = f"{word.power}.{member.name}".removeprefix(".")
            found[member.name] = _verb(member.name, member)._replace(power=power, gives=_gives(member))
    return found


def _is_identity(word: Word, member: Member) -> bool:
    return member.name in [name for name, _ in word.identity]


@cache
def fault_fields() -> Verb:
    """The power that sets a fault: its arguments are the keys of the mapping after `fault`."""
    member = members_of(BrokerControl)["fault"]
    return _verb("fault", member)._replace(power="fault", gives="fault", subject=None)


@cache
def topic_arguments() -> Sequence[Argument]:
    """What may be said of a topic under `topics`."""
    arguments = arguments_of(members_of(BrokerControl)["create_topic"].parameters, leave_out=["name"])
    return [each._replace(kind=OneOf([TOPIC_SETTINGS, NULL])) if each.key == "config" else each for each in arguments]


def _verb(name: str, member: Member) -> Verb:
    about = _WHAT_IT_RAISES.sub("", member.doc.split("\n\n")[0].replace("\n", " ")).strip()
    if member.is_property and not member.is_settable:
        return Verb(name, about)
    parameters = parameters_of(member)
    arguments = arguments_of(parameters)
    by_name = {each.parameter: each for each in reversed(arguments)}
    if [p.name for p in parameters[:2]] == ["topic", "partition"]:
        return Verb(name, about, tuple(arguments), Argument("", PARTITION, ""), takes_partition=True)
    subject = next((by_name.get(p.name) for p in parameters if p.kind is not p.KEYWORD_ONLY), None)
    if subject is not None and isinstance(subject.kind, ListOf) and _is_many(parameters, subject.parameter):
        subject = subject._replace(kind=subject.kind.element)
    elif subject is not None:  # as text it is a duration where it is a time
        subject = next((each for each in arguments if each.parameter == subject.parameter != each.key), subject)
    takes_amount = subject is None and "ms" in by_name and "days" in by_name
    if takes_amount:
        subject = Argument("ms", DURATION_MS, "ms")  # an amount of time
    if member.is_property:  # that is set, or looked at without its argument
        arguments = [each._replace(is_required=False) for each in arguments]
    takes_many = subject is not None and _is_many(parameters, subject.parameter)
    return Verb(name, about, tuple(arguments), subject, takes_many=takes_many, takes_amount=takes_amount)


def _is_many(parameters: Sequence[Parameter], name: str) -> bool:
    """Whether a parameter takes several positional arguments."""
    return any(each.kind is each.VAR_POSITIONAL and each.name == name for each in parameters)


def _gives(member: Member) -> str:
    """What a step with this power has to give a name to."""
    names: Mapping[Any, str] = {HoldHandle: "hold", FaultHandle: "fault"}
    if next(handles_in(member.returns), None) is not None:
        return names.get(member.returns, "")
    if getattr(member.returns, "__name__", "") == "Snapshot":
        return "snapshot"
    return "" if member.returns in (None, type(None)) else "value"
