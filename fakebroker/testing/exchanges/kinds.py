"""The lines of sessions and dialogues: who said what when, one JSON object a line.

A session (`fakebroker record`) is what passed between clients and a Kafka cluster: its lines have times, connections
have numbers, and correlation ids tell which answer belongs to which request. A dialogue (`fakebroker dialogue play`)
can be played on any broker: connections have names, requests have numbers of their own, and further lines say what to
wait for and what to expect.

In the messages of a dialogue "$name" stands for a saved value, "~" for the tag of the run, "now-5000" for a time
relative to the present, and "@a" for the broker that is named a.
"""

from dataclasses import dataclass, field
from typing import Any

from fakebroker.testing.exchanges.columns import Form, Kind, kind_of

Json = Any  # what json.loads gives

SCHEMA_VERSION = 2
SPANS = frozenset({"at_ms", "waited_ms", "for_ms"})


# -- lines of sessions -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SessionHead:
    """The first line of a session: what was recorded, when, and what was left out."""

    schema_version: int
    upstream: str
    started_wall_ms: int
    fakebroker: str
    redacted: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class State:
    """What the Kafka held before the first client came: an answer to the recorder, or the problem with asking."""

    at_ms: float
    about: str
    node: int | None = None
    group: str | None = None
    release: str | None = None
    api_key: int | None = None
    version: int | None = None
    message: dict[str, Json] = field(default_factory=dict)
    offsets: list[Json] = field(default_factory=list)
    problem: str = ""


@dataclass(frozen=True)
class Connect:
    """A client connected; `node` is null if it is not known yet."""

    at_ms: float
    connection: int
    node: int | None
    address: str = ""
    upstream: str = ""


@dataclass(frozen=True)
class Exchanged:
    """A request, or the answer to one: `message`, or `hex` with the whole frame if it was not understood."""

    at_ms: float
    connection: int
    node: int | None
    client: str | None
    correlation_id: int | None
    api: str | None
    api_key: int | None
    version: int | None
    size_bytes: int
    message: dict[str, Json] = field(default_factory=dict)
    hex: str | None = None
    is_long: bool = False
    is_redacted: bool = False
    is_rewritten: bool = False
    rest_bytes: int = 0
    problem: str = ""


@dataclass(frozen=True)
class Closing:
    """A connection was closed."""

    at_ms: float
    connection: int
    by: str
    reason: str


@dataclass(frozen=True)
class End:
    """The recording ended. The line is missing if the recorder was killed."""

    at_ms: float
    reason: str
    summary: dict[str, Json]


# -- lines of dialogues ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DialogueHead:
    """The first line of a dialogue: what it shows, and the broker that it was recorded with."""

    schema_version: int
    name: str
    about: str = ""
    broker: str = "Kafka 4.3.1"
    config: dict[str, Json] = field(default_factory=dict)
    nodes: int = 1


@dataclass(frozen=True)
class Send:
    """A client sends a request: `message`, or the bytes in `hex` as they are.

    An answer to bytes is found by the correlation id 0x7fffffff, and read as one of `api` in `version`.
    """

    id: int
    connection: str
    api: str
    version: int
    message: dict[str, Json] = field(default_factory=dict)
    save: dict[str, str] = field(default_factory=dict)
    reads_records: bool = False
    hex: str | None = None
    at_ms: float | None = None


@dataclass(frozen=True)
class Receive:
    """The answer to request `id` must be this one, `waited_ms` after it was sent."""

    id: int
    message: dict[str, Json]
    waited_ms: int
    is_untimed: bool = False


@dataclass(frozen=True)
class Silent:
    """Request `id` must still be unanswered after that time."""

    id: int
    for_ms: int


@dataclass(frozen=True)
class Closed:
    """The broker must close the connection instead of answering request `id`."""

    id: int


@dataclass(frozen=True)
class Sleep:
    """Time passes."""

    for_ms: int


@dataclass(frozen=True)
class Close:
    """The client closes a connection."""

    connection: str


@dataclass(frozen=True)
class ScramLogin:
    """A client logs in by SCRAM, from SaslHandshake to the last SaslAuthenticate."""

    connection: str
    mechanism: str
    user: str
    password: str
    extensions: str
    error_code: int


@dataclass(frozen=True)
class Ready:
    """Create topics, then wait until their leaders and the coordinators of the group and of the transactional id serve.

    An empty transactional id stands for producer ids alone.
    """

    group: str | None = None
    new_topics: dict[str, dict[str, Json]] = field(default_factory=dict)
    names_topic_ids: bool = False
    transactional_id: str | None = None


@dataclass(frozen=True)
class NameNodes:
    """Name the brokers a, b, c: a leads the group's partition, or the topic's partition 0; then the other replicas.

    "x@a" is then a connection to that broker, "x@t" one to the coordinator of the transactional id.
    """

    group: str | None = None
    topic: str | None = None
    transactional_id: str | None = None


@dataclass(frozen=True)
class MakeTopics:
    """Create topics with replicas on named brokers, and wait until all brokers know their leaders."""

    new_topics: dict[str, dict[str, Json]]


@dataclass(frozen=True)
class NodeControl:
    """Do something to a broker from outside."""

    action: str
    on: str


@dataclass(frozen=True)
class MoveLeader:
    """Let another broker lead the group's partition, or the topic's partition 0."""

    to: str
    group: str | None = None
    topic: str | None = None


@dataclass(frozen=True)
class Settled:
    """Wait until every live broker names `on` as the leader, and it serves the group, the topic's partition 0."""

    on: str
    group: str | None = None
    topic: str | None = None


ClusterStep = NameNodes | MakeTopics | NodeControl | MoveLeader | Settled
Step = Send | Receive | Silent | Closed | Sleep | Close | ScramLogin | Ready | ClusterStep


def _kinds(**sources: type[Any]) -> dict[str, Kind]:
    return {name: kind_of(name, source) for name, source in sources.items()}


_OF_SESSIONS = _kinds(
    session=SessionHead, state=State, connect=Connect, request=Exchanged, answer=Exchanged, close=Closing, end=End,
)  # fmt: skip
_OF_DIALOGUES = _kinds(
    dialogue=DialogueHead, ready=Ready, request=Send, answer=Receive, unanswered=Silent, closed=Closed, wait=Sleep,
    close=Close, login=ScramLogin, name_nodes=NameNodes, create_topics=MakeTopics, control_node=NodeControl,
    move_leader=MoveLeader, settled=Settled,
)  # fmt: skip
SESSION = Form("a session", _OF_SESSIONS, SCHEMA_VERSION, head="session", spans=SPANS)
DIALOGUE = Form("a dialogue", _OF_DIALOGUES, SCHEMA_VERSION, head="dialogue", spans=SPANS)
