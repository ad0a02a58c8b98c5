"""Scenario files as scenarios: read, checked, parameters filled in, includes in their places. Nothing is executed.

The arguments of a `ClientStep` and of a `PowerStep` are those of the method, ready for the call: durations are numbers
in the argument's unit, "orders-0" is ("orders", 0) where a topic and a partition are wanted, bytes are bytes. Texts
that begin with "$" stand for what was saved. A `request` has `api_name`, `version` and the fields of its message as
they are written. What is expected stays as it is written, too.
"""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from fakebroker.client.login import Credentials
from fakebroker.protocol.arguments.kinds import TEXT
from fakebroker.protocol.arguments.structures import Fields
from fakebroker.protocol.errors import FakebrokerError, KafkaError, nearest
from fakebroker.protocol.wire.registry import APIS, no_api
from fakebroker.scenarios.errors import Problem, ScenarioError
from fakebroker.scenarios.language.answer_fields import version_problem
from fakebroker.scenarios.language.declaration import (
    ACTOR_KEYS,
    ALL_WORDS,
    DEFAULT_JITTER_MS,
    DEFAULT_RELEASE,
    FILE_KEYS,
    INCLUDED_KEYS,
    LANGUAGE_VERSION,
    STEP_KEYS,
    topic_arguments,
)
from fakebroker.scenarios.language.kinds import Reading, Wrong, plain, read, read_itself, shown
from fakebroker.scenarios.language.parameters import NAME, Filling, node_of
from fakebroker.scenarios.language.read_steps import StepReader
from fakebroker.scenarios.language.secrets import Hiding
from fakebroker.scenarios.language.yaml_file import MAX_BYTES, Items, Node, Scalar, Table, parse_yaml
from fakebroker.scenarios.script import Actor, Json, Scenario, SourceLine, Step
from fakebroker.testing.releases import release as release_of

COMMON = "common"  # folders of files that are only included
MAX_INCLUDES = 200
MAX_INCLUDE_DEPTH = 16


def read_scenario(path: str | PathLike[str], parameters: Mapping[str, Json] | None = None) -> Scenario:
    """The scenario of a file; `parameters` go before those of the file. Raises ScenarioError, OSError."""
    path = Path(path)
    data = _read(path)
    return _FileReader(Reading()).scenario(data, str(path), path, parameters or {})


def read_scenario_text(
    text: str | bytes,
    name: str = "scenario",
    parameters: Mapping[str, Json] | None = None,
) -> Scenario:
    """The scenario of a text, which includes no files; `name` stands for its own. Raises ScenarioError."""
    return _FileReader(Reading()).scenario(text, name, None, parameters or {})


def _check_version(root: Table) -> None:
    """Raises ScenarioError for a file in another version of the language: its other problems come from that."""
    node = root.entries.get("schema_version")
    if node is not None and plain(node) != LANGUAGE_VERSION:
        text = f"should be {LANGUAGE_VERSION}, the version of scenarios that this fakebroker reads, not {shown(node)}"
        raise ScenarioError([Problem(node.place, "schema_version", text)])


def find_scenarios(paths: Iterable[str | PathLike[str]]) -> list[Path]:
    """The scenario files among `paths` and under the folders among them, in order, each once.

    Folders named `common` hold files that are only included. Raises FakebrokerError for a path that is not there.
    """
    found: dict[Path, None] = {}
    for path in map(Path, paths):
        if path.is_dir():
            inside = sorted(each for each in path.rglob("*.yaml") if each.is_file())
            found |= dict.fromkeys(each for each in inside if COMMON not in each.relative_to(path).parts[:-1])
        elif path.is_file():
            found[path] = None
        else:
            raise FakebrokerError(f"there is no file or folder {path}")
    return list(found)


def _read(path: Path) -> bytes:
    """The bytes of a file, one more than are allowed at most."""
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


class _Parts(NamedTuple):
    """What a file and those that it includes say together."""

    table: Table
    parameters: dict[str, Json]
    secret_parameters: frozenset[str]
    topics: dict[str, dict[str, Json]]
    actors: dict[str, Actor]
    timeline: list[Step]


class _FileReader:
    """Reads a file and what it includes. One reading, with its problems and saved names, goes through all of them."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._open: list[Path] = []  # the files around the one that is read
        self._count = 0

    def scenario(self, data: str | bytes, name: str, path: Path | None, parameters: Mapping[str, Json]) -> Scenario:
        """The scenario of the outermost file."""
        try:
            parts = self._parts(data, name, path, parameters, tuple(FILE_KEYS))
        except ScenarioError as error:
            for problem in error.problems:
                self._reading.problems.add(*problem)
            parts = None
        if parts is None:
            self._reading.problems.raise_if_any()
            raise AssertionError("a file without parts has problems")
        scenario = self._made(parts, name, path)
        self._reading.problems.raise_if_any()
        return scenario

    def _made(self, parts: _Parts, name: str, path: Path | None) -> Scenario:
        table = parts.table
        values = {key: self._value(table, key) for key in FILE_KEYS if key in table.entries}
        sources = values.get("source") or []
        racks = values.get("racks")
        nodes = values.get("nodes") or (len(racks) if racks else 1)
        if racks and len(racks) != nodes:
            self._reading.wrong(table.entries["racks"], "racks", f"there are {len(racks)} racks for {nodes} nodes")
        release = values.get("release") or DEFAULT_RELEASE
        self._check_release(table, release)
        for topic, arguments in parts.topics.items():
            replicas = arguments.get("replication_factor")
            if isinstance(replicas, int) and replicas > nodes:
                text = f"{topic}: {replicas} replicas need as many brokers; nodes is {nodes}"
                self._reading.wrong(table.entries.get("topics", table), "topics", text)
        for actor in parts.actors.values():
            if actor.node is not None and actor.node > nodes:
                self._reading.problems.add(actor.place, actor.name, f"there is no node {actor.node}; there are {nodes}")
        return Scenario(
            name=Path(name).stem if path is not None else name,
            about=" ".join(str(values.get("about") or "").split()),
            sources=tuple([sources] if isinstance(sources, str) else sources),
            path=name,
            release=release,
            profile=values.get("profile") or "test",
            nodes=nodes,
            racks=racks,
            config=values.get("config") or {},
            seed=values.get("seed") or 0,
            jitter_ms=values.get("jitter") or DEFAULT_JITTER_MS,
            parameters=parts.parameters,
            secret_parameters=parts.secret_parameters,
            topics=parts.topics,
            actors=parts.actors,
            timeline=tuple(parts.timeline),
            users=values.get("users") or {},
            acls=None if values.get("acls") is None else tuple(each.as_mapping() for each in values["acls"]),
        )

    def _check_release(self, table: Table, name: str) -> None:
        try:
            release_of(name)
        except FakebrokerError as error:
            text = str(error).removeprefix("as_release: ")
            self._reading.wrong(table.entries["release"], "release", text)

    def _value(self, table: Table, key: str) -> Any:
        kind = FILE_KEYS[key].kind
        if kind is None:
            return None
        try:
            return self._outside(lambda: read(kind, table.entries[key], self._reading))
        except Wrong as wrong:
            self._reading.wrong(wrong.node, key, wrong.message)
        return None

    def _outside(self, read: Any) -> Any:
        """Read a value outside of the timeline, where "$" is no name."""
        self._reading.in_timeline = False
        try:
            return read()
        finally:
            self._reading.in_timeline = True

    def _parts(
        self, data: str | bytes, name: str, path: Path | None, parameters: Mapping[str, Json], known: Sequence[str]
    ) -> _Parts:
        """What a file says. Raises ScenarioError for one that cannot be read at all."""
        root = parse_yaml(data, name)
        if not isinstance(root, Table):
            raise ScenarioError([Problem(root.place, "", f"a scenario is a mapping (about: ...), not {shown(root)}")])
        _check_version(root)
        table, values = self._filled(root, name, parameters)
        for key, node in table.keys.items():
            if key not in known:
                self._reading.wrong(node, key, f"a file has no such key; {nearest(key, known)}")
        for key, each in FILE_KEYS.items():
            if each.is_required and key not in table.entries and not (key == "about" and known is INCLUDED_KEYS):
                self._reading.problems.add(SourceLine(name, 1), key, "this key is missing")
        before, self._reading.hiding = self._reading.hiding, (hiding := Hiding())
        hiding.of_file(table.entries)
        topics = self._topics(table.entries.get("topics"))
        actors = self._actors(table.entries.get("actors"))
        timeline = self._timeline(table, path, topics, actors)
        self._reading.hiding = before
        return _Parts(table, values, frozenset(hiding.parameters), topics, actors, timeline)

    def _filled(self, root: Table, name: str, given: Mapping[str, Json]) -> tuple[Table, dict[str, Json]]:
        """The file with its parameters filled in, and their values."""
        node = root.entries.get("parameters")
        own = node.entries if isinstance(node, Table) else {}
        if isinstance(node, Table):
            for key, each in node.keys.items():
                if not NAME.fullmatch(key):
                    self._reading.wrong(each, key, "the name of a parameter may have letters, digits and _")
                if "${" in getattr(node.entries[key], "text", ""):
                    self._reading.wrong(each, key, "parameters cannot contain other parameters")
        elif node is not None and not (isinstance(node, Scalar) and node.value is None):
            self._reading.wrong(node, "parameters", f"should be a mapping of names to values, not {shown(node)}")
        place = SourceLine(name, 1) if node is None else node.place
        for key in given:
            if key not in own:
                self._reading.problems.add(place, key, f"there is no such parameter; {nearest(key, own)}")
        values = {key: node_of(given[key], each.place, each) if key in given else each for key, each in own.items()}
        filling = Filling(values, self._reading)
        keys = {key: each for key, each in root.keys.items() if key != "parameters"}
        entries = {key: filling.filled(root.entries[key]) for key in keys}
        table = Table(root.place, entries, keys)
        if node is not None:
            table = Table(root.place, {**entries, "parameters": node}, {**keys, "parameters": root.keys["parameters"]})
        return table, {key: plain(each) for key, each in values.items()}

    def _topics(self, node: Node | None) -> dict[str, dict[str, Json]]:
        arguments = {each.key: each.kind for each in topic_arguments()}
        kind = Fields(arguments, (), dict)
        topics: dict[str, dict[str, Json]] = {}
        for name, each in self._named(node, "topics", "{orders: {partitions: 2}}"):
            try:
                is_empty = isinstance(each, Scalar) and each.value is None
                topics[name] = (
                    {} if is_empty else self._outside(lambda node=each: read_itself(kind, node, self._reading))
                )
                _check_topic(each, name, topics[name])
            except Wrong as wrong:
                self._reading.wrong(wrong.node, name, wrong.message)
                topics[name] = {}
        return topics

    def _named(self, node: Node | None, key: str, example: str) -> Iterable[tuple[str, Node]]:
        """The entries of a mapping, or of a list of names."""
        if node is None or (isinstance(node, Scalar) and node.value is None):
            return []
        if isinstance(node, Table):
            return list(node.entries.items())
        if not isinstance(node, Items):
            self._reading.wrong(node, key, f"should be a list of names or a mapping, {example}, not {shown(node)}")
            return []
        found: dict[str, Node] = {}
        for each in node.items:
            if not isinstance(each, Scalar) or not isinstance(each.value, str):
                self._reading.wrong(each, key, f"should be a name, not {shown(each)}")
            elif each.value in found:
                self._reading.wrong(each, key, f"{each.value!r} is there twice")
            else:
                found[each.value] = Scalar(each.place, None, "")
        return found.items()

    def _actors(self, node: Node | None) -> dict[str, Actor]:
        kinds = {name: key.kind for name, key in ACTOR_KEYS.items() if key.kind is not None}
        kind = Fields(kinds, (), dict)
        actors: dict[str, Actor] = {}
        for name, each in self._named(node, "actors", "[a, b]"):
            fields: dict[str, Any] = {}
            try:
                read_itself(TEXT, Scalar(each.place, name, name), self._reading)
                if not NAME.fullmatch(name.replace("-", "_")):
                    raise Wrong(each, "the name of an actor may have letters, digits, _ and -")
                if name in ALL_WORDS or name in STEP_KEYS:
                    raise Wrong(each, f"an actor cannot be named {name!r}: it is a word of the language")
                if not (isinstance(each, Scalar) and each.value is None):
                    fields = self._outside(lambda node=each: read_itself(kind, node, self._reading))
                self._check_versions(each, fields.get("versions") or {})
            except Wrong as wrong:
                self._reading.wrong(wrong.node, name, wrong.message)
            versions, node_id = fields.get("versions") or {}, fields.get("node")
            client_id, credentials = fields.get("client_id", name), self._credentials(each, name, fields)
            actors[name] = Actor(name, client_id, versions, node_id, each.place, credentials)
        return actors

    def _credentials(self, node: Node, name: str, fields: Mapping[str, Any]) -> Credentials | None:
        """What an actor logs in with."""
        try:
            user, password, mechanism, token = (fields.get(key) for key in ("user", "password", "mechanism", "token"))
            return Credentials.of(user, password, mechanism, token)
        except FakebrokerError as error:
            self._reading.wrong(node, name, str(error))
            return None

    def _check_versions(self, node: Node, versions: Mapping[str, Json]) -> None:
        names = [api.name for api in APIS.values()]
        for name, version in versions.items():
            if name not in names:
                raise Wrong(node, f"versions: {no_api(name)}")
            if problem := version_problem(name, version):
                raise Wrong(node, f"versions: {problem}")

    # Includes

    def _timeline(
        self, table: Table, path: Path | None, topics: dict[str, dict[str, Json]], actors: dict[str, Actor]
    ) -> list[Step]:
        """The steps of a file. What it includes adds its topics and actors, all of which are known to every step."""
        node = table.entries.get("timeline")
        if node is None:
            return []
        names = list(actors)
        self._reading.saved |= dict.fromkeys(names, "actor")

        def include(value: Node, given: Node | None) -> list[Step]:
            parts = self._included(value, given, path)
            if parts is None:
                return []
            self._merge(value, "topic", topics, parts.topics)
            self._merge(value, "actor", actors, parts.actors)
            names.extend(name for name in parts.actors if name not in names)
            self._reading.saved |= dict.fromkeys(names, "actor")
            return parts.timeline

        return StepReader(self._reading, names, include).steps(node, "timeline")

    def _included(self, value: Node, given: Node | None, path: Path | None) -> _Parts | None:
        if not isinstance(value, Scalar) or not isinstance(value.value, str) or not value.value:
            raise Wrong(value, f"should be the path of a file, not {shown(value)}", "include")
        if path is None:
            raise Wrong(value, "this scenario is not from a file, so it cannot include files", "include")
        if given is not None and not isinstance(given, Table):
            raise Wrong(given, f"with: should be a mapping of parameters, not {shown(given)}", "include")
        target = path.parent / value.value
        try:
            resolved = target.resolve()
        except (OSError, RuntimeError, ValueError):
            raise Wrong(value, f"{value.value!r} is not a path", "include") from None
        here = [*self._open, path.resolve()]
        self._count += 1
        if resolved in here:
            chain = " -> ".join(each.name for each in [*here[here.index(resolved) :], resolved])
            raise Wrong(value, f"files include each other: {chain}", "include")
        if len(here) > MAX_INCLUDE_DEPTH or self._count > MAX_INCLUDES:
            text = f"there are more than {MAX_INCLUDES} includes, or {MAX_INCLUDE_DEPTH} within each other"
            raise Wrong(value, text, "include")
        try:
            data = _read(target)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise Wrong(value, f"cannot read {value.value!r}: {why}{_others(target)}", "include") from None
        before, self._open = self._open, here
        try:
            parts = self._parts(data, str(target), target, plain(given) if given else {}, INCLUDED_KEYS)
            for name in parts.secret_parameters:
                if given is not None and name in given.entries:
                    self._reading.hiding.hide(given.entries[name])
            return parts
        except ScenarioError as error:
            for problem in error.problems:
                self._reading.problems.add(*problem)
            return None
        finally:
            self._open = before

    def _merge(self, value: Node, what: str, ours: dict[str, Any], theirs: Mapping[str, Any]) -> None:
        for name, each in theirs.items():
            if name in ours and not _is_same(ours[name], each):
                text = f"the included file declares the {what} {name!r} differently"
                self._reading.wrong(value, "include", text)
            ours.setdefault(name, each)


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, Actor):
        parts = [(each.client_id, dict(each.versions), each.node, each.credentials) for each in (one, other)]
        return parts[0] == parts[1]
    return bool(one == other)


def _others(target: Path) -> str:
    """The nearest file that is there."""
    try:
        names = [each.name for each in target.parent.iterdir() if each.suffix == ".yaml"]
    except OSError:
        return ""
    return f"; {nearest(target.name, names)}" if names else ""


def _check_topic(node: Node, name: str, arguments: Mapping[str, Json]) -> None:
    """Raises Wrong for a topic that no broker could have."""
    from fakebroker.broker.core.topic_rules import check_name

    try:
        check_name(name)
    except KafkaError as error:
        raise Wrong(node, str(error.message)) from None
    for field in ("partitions", "replication_factor"):
        value = arguments.get(field)
        if isinstance(value, int) and value < 1:
            raise Wrong(node, f"{field}: should be a whole number, 1 or more, not {value}")
