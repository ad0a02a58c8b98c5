"""The steps of a timeline: from nodes to the steps that a player takes, checked against the language."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fakebroker.broker.engine.faults.patterns import api_names
from fakebroker.broker.engine.faults.spec import FaultSpec
from fakebroker.protocol.arguments.kinds import NAME, TEXT, Kind, Whole
from fakebroker.protocol.arguments.signatures import missing_argument, unknown_argument
from fakebroker.protocol.arguments.structures import PARTITION
from fakebroker.protocol.errors import InvalidArgument, nearest, spelt_alike
from fakebroker.protocol.wire.registry import APIS, no_api
from fakebroker.scenarios.errors import no_actor
from fakebroker.scenarios.language.answer_fields import ANSWERED_BY, answer_fields, version_problem
from fakebroker.scenarios.language.declaration import (
    ALL_WORDS,
    MAX_STEPS,
    MAX_TIMES,
    RANGE_MS,
    STEP_KEYS,
    WORDS,
    Verb,
    Word,
    actor_verbs,
    fault_fields,
    keys_beside,
)
from fakebroker.scenarios.language.kinds import (
    DURATION_MS,
    SAVED,
    YAML,
    Reading,
    Wrong,
    check_saved,
    is_saved,
    read,
    read_itself,
    shown,
    takes_text,
)
from fakebroker.scenarios.language.raw_fields import fields_of
from fakebroker.scenarios.language.read_expectations import read_answer, read_expectation, read_expected, saved_thing
from fakebroker.scenarios.language.signatures import Argument, with_duration
from fakebroker.scenarios.language.step_text import text_of
from fakebroker.scenarios.language.yaml_file import Items, Node, Scalar, Table, resolved
from fakebroker.scenarios.script import (
    Answered,
    AnyOrder,
    ClientStep,
    Expect,
    Json,
    Pass,
    PowerStep,
    Repeat,
    Silent,
    Step,
)

WAIT_MS = 10_000


class _Entry(NamedTuple):
    """One step as it stands in the file: its word, the value of that, and the other keys."""

    word: str
    value: Node
    rest: dict[str, Node]
    node: Table

    def key(self, name: str) -> Node:
        return self.node.keys[name]

    def base(self, reading: Reading) -> dict[str, Any]:
        """What every step has."""
        note = self.rest.get("note")
        text = note.value if isinstance(note, Scalar) and isinstance(note.value, str) else ""
        shown_step = text_of(self.word, self.value, self.rest, reading.hiding)
        return {"place": self.node.keys[self.word].place, "text": shown_step, "note": text.strip()}


class StepReader:
    """Reads the steps of one timeline, in their order. Problems are kept, and the steps that have some left out.

    `include` gives the steps of an included file; it is called where the step stands.
    """

    def __init__(
        self, reading: Reading, actors: Sequence[str], include: "Callable[[Node, Node | None], list[Step]]"
    ) -> None:
        self._reading = reading
        self._actors = actors
        self._include = include
        self._times = 1

    def steps(self, node: Node, key: str) -> list[Step]:
        """The steps of a list."""
        if not isinstance(node, Items):
            self._reading.wrong(node, key, f"should be a list of steps, not {shown(node)}")
            return []
        return [step for each in node.items for step in self._read(each)]

    def _read(self, node: Node) -> Iterator[Step]:
        if self._reading.problems.is_full:
            return
        try:
            yield from self._step(self._entry(node))
        except Wrong as wrong:
            self._reading.wrong(wrong.node, wrong.key, wrong.message)

    def _entry(self, node: Node) -> _Entry:
        if not isinstance(node, Table):
            hint = "; a step is a mapping: {clock: advance 3d}" if isinstance(node, Scalar) else ""
            raise Wrong(node, f"should be a step, not {shown(node)}{hint}")
        word = next((name for name in node.keys if name in self._actors or name in ALL_WORDS), None)
        if word is None:
            first = next((name for name in node.keys if name not in STEP_KEYS), "")
            if node.keys and not first:
                text = f"beside {' and '.join(node.keys)} the step needs an actor or a word of the broker"
                raise Wrong(node, text, next(iter(node.keys)))
            raise Wrong(node.keys.get(first, node), self._unknown(first, node.entries.get(first)), first)
        rest = {name: each for name, each in node.entries.items() if name != word}
        return _Entry(word, node.entries[word], rest, node)

    def _unknown(self, name: str, value: Node | None) -> str:
        """What is wrong with a step that begins with that name: an actor if it does what actors do."""
        actors = f"the actors are {', '.join(self._actors)}; " if self._actors else ""
        words = f"{actors}the words of the broker are {', '.join(ALL_WORDS)}"
        if not name:
            return f"the step is empty; {words}"
        does = value.text.partition(" ")[0] if isinstance(value, Scalar) else ""
        if does in actor_verbs() and not spelt_alike(name, ALL_WORDS):
            return no_actor(name, self._actors)
        hint = spelt_alike(name, [*self._actors, *ALL_WORDS]) or words
        return f"{name!r} is neither an actor nor a word of the broker; {hint}"

    def _step(self, entry: _Entry) -> Iterator[Step]:
        word = entry.word
        if word in self._actors:
            yield self._actor_step(entry)
        elif word in WORDS:
            yield self._power_step(entry, WORDS[word])
        elif word == "include":
            self._check_keys(entry, ("note", "with"))
            yield from self._include(entry.value, entry.rest.get("with"))
        else:
            yield self._other_step(entry)

    # Actors

    def _actor_step(self, entry: _Entry) -> Step:
        verb, text = self._verb(entry, actor_verbs(), f"an actor ({entry.word})")
        answer = ANSWERED_BY.get(verb.name)
        if verb.name == "request":
            answer = self._api_of(entry, text)
            verb = self._raw_request(verb, answer)
        arguments = self._arguments(entry, verb, text)
        if verb.name == "request":
            self._check_version(entry, answer, arguments.get("version"))
        known = answer_fields(answer)
        expected = save = None
        if "expect" in entry.rest and "expect" in keys_beside(verb):
            expected = self._expected_answer(entry, known)
        if "save" in entry.rest and "save" in keys_beside(verb):
            save = self._value(entry, "save", STEP_KEYS["save"].kind)
        for name, path in (save or {}).items():
            self._check_path(entry, path, known)
            self._saves(entry, "save", name, "value")
        common = {**entry.base(self._reading), "actor": entry.word}
        compared: dict[str, Any] = {"expected": expected, "save": save or {}}
        if verb.name == "answered":
            return Answered(within_ms=arguments.get("within_ms", WAIT_MS), **common, **compared)
        if verb.name == "silent":
            return Silent(for_ms=arguments.get("for_ms", 0), **common)
        is_later = "later" in keys_beside(verb) and bool(self._value(entry, "later", STEP_KEYS["later"].kind))
        return ClientStep(verb=verb.name, arguments=arguments, is_later=is_later, **common, **compared)

    def _api_of(self, entry: _Entry, text: str) -> str:
        """The API that a raw request is of."""
        named = text or getattr(entry.rest.get("api_name"), "text", "")
        if not named:
            raise Wrong(
                entry.value, "the name of the request is missing (request OffsetFetch, group_id: billing)", entry.word
            )
        if named not in [each.name for each in APIS.values()]:
            raise Wrong(entry.value, no_api(named), entry.word)
        return named

    def _raw_request(self, verb: Verb, api_name: str) -> Verb:
        """The verb with the fields of the request as its arguments."""
        taken = {"api_name", "version", *keys_beside(verb)}
        fields = {name: kind for name, kind in fields_of(api_name).items() if name not in taken}
        arguments = [each for each in verb.arguments if each.parameter in ("api_name", "version")]
        for name, kind in {**fields, "hex": NAME}.items():
            arguments.append(Argument(name, kind, name))
            arguments += [each for each in with_duration(name, False, kind) if each.key not in fields]
        return verb._replace(arguments=tuple(arguments))

    def _check_version(self, entry: _Entry, api_name: str | None, version: Json) -> None:
        problem = version_problem(api_name, version)
        if problem and "hex" not in entry.rest:
            self._reading.wrong(entry.rest.get("version", entry.value), "version", problem)

    def _check_path(self, entry: _Entry, path: str, known: Sequence[str]) -> None:
        first = path.partition(".")[0]
        if first not in known:
            hint = nearest(first, known)
            self._reading.wrong(entry.rest["save"], "save", f"the answer has no field {first!r}; {hint}")

    def _expected_answer(self, entry: _Entry, known: Sequence[str]) -> dict[str, Json] | None:
        try:
            return read_answer(entry.rest["expect"], self._reading, known)
        except Wrong as wrong:
            self._reading.wrong(wrong.node, "expect", wrong.message)
        return None

    # Powers

    def _power_step(self, entry: _Entry, word: Word) -> Step:
        if word.name == "fault" and isinstance(entry.value, Table):
            verb = fault_fields()
            inner = _Entry("fault", entry.value, dict(entry.value.entries), entry.value)
            arguments = self._given(inner, verb, {}, ())
            self._check_fault(inner, verb, arguments)
            self._check_keys(entry, keys_beside(verb))
            return self._power(entry, verb, {}, arguments, None)
        verb, text = self._verb(entry, word.verbs, f"a {word.name}")
        identity: dict[str, Json] = {}
        on = None
        if word.identity:
            first, text = self._split(entry, word, verb, text)
            (name, kind), *_ = word.identity
            value = self._scalar_value(entry, kind, first)
            if word.is_saved:
                on = self._saved_thing(entry, word, first)
            elif word.name == "partition" and isinstance(value, tuple):
                identity = {"name": value[0], "index": value[1]}
            else:
                identity = {name: value}
        arguments = self._arguments(entry, verb, text, bool(word.identity))
        return self._power(entry, verb, identity, arguments, on)

    def _power(
        self, entry: _Entry, verb: Verb, identity: dict[str, Json], arguments: dict[str, Json], on: str | None
    ) -> PowerStep:
        expected = saved_as = None
        if "expect" in entry.rest:
            expected = read_expected(entry.rest["expect"], self._reading)
        if "as" in entry.rest:
            saved_as = self._value(entry, "as", NAME)
            if not verb.gives:
                self._reading.wrong(entry.key("as"), "as", f"{verb.name} has no result to name")
            elif isinstance(saved_as, str):
                self._saves(entry, "as", saved_as, verb.gives)
        if verb.power == "restore" and isinstance(arguments.get("snapshot"), str):
            arguments["snapshot"] = "$" + self._snapshot(entry, arguments["snapshot"])
        return PowerStep(
            **entry.base(self._reading), power=verb.power, identity=identity, arguments=arguments, saved_as=saved_as,
            on=on, expected=expected,
        )  # fmt: skip

    def _check_fault(self, entry: _Entry, verb: Verb, arguments: Mapping[str, Json]) -> None:
        """What a fault cannot be, unless that depends on saved values."""
        has_unknown_keys = not entry.rest.keys() <= {each.key for each in verb.arguments}
        if has_unknown_keys or any(value is None or str(value)[:1] == "$" for value in arguments.values()):
            return
        try:
            spec = FaultSpec.of(arguments)
            api_names("api", spec.fields.get("api") or "*", [each.name for each in APIS.values()])
        except InvalidArgument as error:
            keys = [each.key for each in verb.arguments if each.parameter == error.field and each.key in entry.rest]
            key = keys[0] if keys else entry.word
            self._reading.wrong(entry.node.keys.get(key, entry.node), key, str(error).removeprefix(f"{error.field}: "))

    def _saved_thing(self, entry: _Entry, word: Word, name: str) -> str:
        try:
            return saved_thing(_scalar(entry.value, name), self._reading, word.name)
        except Wrong as wrong:
            raise wrong.under(entry.word) from None

    def _snapshot(self, entry: _Entry, name: str) -> str:
        there = [each for each, what in self._reading.saved.items() if what == "snapshot"]
        name = name.removeprefix("$")
        if name not in there:
            text = f"no earlier step has `as: {name}` for a snapshot; {nearest(name, there)}"
            raise Wrong(entry.value, text, entry.word)
        return name

    def _split(self, entry: _Entry, word: Word, verb: Verb, text: str) -> tuple[str, str]:
        """The identity in the text after the verb, and what comes after it: nothing if that has a key of its own."""
        if not text:
            example = {"partition": "orders-0", "node": "2", "topic": "orders"}.get(word.name, "billing")
            article = "which" if not word.is_saved else "the name of which"
            raise Wrong(entry.value, f"{verb.name} of {article} {word.name}? ({verb.name} {example})", entry.word)
        first, *rest = text.split(None, 1)
        takes_more = verb.subject is not None and takes_text(verb.subject.kind) and verb.subject.key not in entry.rest
        return (first, rest[0].strip()) if takes_more and rest else (text, "")

    # Other words

    def _other_step(self, entry: _Entry) -> Step:
        word, reading = entry.word, self._reading
        if word in ("expect", "wait"):
            self._check_keys(entry, ("note", "within"))
            within = self._value(entry, "within", DURATION_MS)
            try:
                subject, identity, expected = read_expectation(entry.value, reading, self._actors)
            except Wrong as wrong:
                raise wrong.under(word) from None
            within = WAIT_MS if within is None and word == "wait" else within
            return Expect(
                **entry.base(self._reading), subject=subject, identity=identity, expected=expected, within_ms=within
            )
        if word == "pass":
            self._check_keys(entry, ("note",))
            least, most = self._read_value(entry, RANGE_MS)
            return Pass(**entry.base(self._reading), min_ms=least, max_ms=most)
        if word == "any_order":
            self._check_keys(entry, ("note",))
            return AnyOrder(**entry.base(self._reading), steps=self.steps(entry.value, word))
        self._check_keys(entry, ("note", "steps"))
        times = self._read_value(entry, Whole(1, MAX_TIMES))
        if "steps" not in entry.rest:
            raise Wrong(entry.value, "the list of steps is missing (repeat: 3, steps: [...])", word)
        before = self._times
        self._times = before * times
        if self._times > MAX_STEPS:
            raise Wrong(entry.value, f"with those around it, this repeats more than {MAX_STEPS} times", word)
        steps = self.steps(entry.rest["steps"], "steps")
        self._times = before
        return Repeat(**entry.base(self._reading), times=times, steps=steps)

    # Texts and keys

    def _verb(self, entry: _Entry, verbs: Mapping[str, Verb], of_what: str) -> tuple[Verb, str]:
        """The verb that the text begins with, and the rest of the text."""
        value = entry.value
        if not isinstance(value, Scalar) or not isinstance(value.value, str) or not value.value.strip():
            names = nearest("", verbs) + _fault_hint(entry)
            raise Wrong(value, f"should be a string that begins with a verb; {names}", entry.word)
        name, *rest = value.value.split(None, 1)
        if name not in verbs:
            hint = nearest(name, verbs, "`fakebroker scenario schema` has them") + _fault_hint(entry, name)
            raise Wrong(value, f"{of_what} has no verb {name!r}; {hint}", entry.word)
        return verbs[name], rest[0].strip() if rest else ""

    def _arguments(self, entry: _Entry, verb: Verb, text: str, has_identity: bool = False) -> dict[str, Json]:
        """The arguments of the text and of the other keys."""
        given: dict[str, Json] = {}
        if text:
            if verb.subject is None:
                after = "the name" if has_identity else repr(verb.name)
                raise Wrong(entry.value, f"{text!r} is not allowed after {after}", entry.word)
            if verb.takes_partition:
                given = self._topic_and_partition(entry, text)
            else:
                value = self._scalar_value(entry, verb.subject.kind, text)
                given = {verb.subject.parameter: [value] if verb.takes_many else value}
        return self._given(entry, verb, given, keys_beside(verb))

    def _topic_and_partition(self, entry: _Entry, text: str) -> dict[str, Json]:
        """Those of "orders-0", or of "orders" beside the key `partition`."""
        if "partition" in entry.rest:
            return {"topic": self._scalar_value(entry, TEXT, text)}
        topic, partition = self._scalar_value(entry, PARTITION, text)
        return {"topic": topic, "partition": partition}

    def _given(
        self, entry: _Entry, verb: Verb, given: dict[str, Json], beside: Sequence[str]
    ) -> dict[str, Json]:  # fmt: skip
        by_key = {each.key: each for each in verb.arguments}
        for name, node in entry.rest.items():
            if name in beside and name not in by_key:
                if name == "note":
                    self._value(entry, "note", STEP_KEYS["note"].kind)
                continue
            if name not in by_key:
                text = unknown_argument(verb.name, name, [*by_key, *beside])
                if name in self._actors or (name in WORDS and "did you mean" not in text):
                    text = f"{verb.name} has no such argument; a step is about {entry.word} or about {name}, not both"
                self._reading.wrong(entry.key(name), name, text)
                continue
            parameter = by_key[name].parameter
            if parameter in given:
                self._reading.wrong(entry.key(name), name, f"{parameter} is given twice")
                continue
            try:
                given[parameter] = read(by_key[name].kind, node, self._reading)
            except Wrong as wrong:
                self._reading.wrong(wrong.node, name, wrong.message + _unit_hint(name, by_key, node))
                given[parameter] = None
        for parameter in verb.required:
            if parameter not in given:
                raise Wrong(entry.value, missing_argument(verb.name, by_key[parameter].kind), parameter)
        if verb.takes_amount and not given.keys() - {"timers"}:
            raise Wrong(entry.value, f"the duration is missing ({verb.name} 3d)", entry.word)
        return given

    def _scalar_value(self, entry: _Entry, kind: Kind, text: str) -> Any:
        """A part of the word's text as a value of a kind."""
        node = _scalar(entry.value, text)
        try:
            if is_saved(node):
                check_saved(node, self._reading)
                return text
            if not kind.fits(text, YAML):
                node = Scalar(node.place, resolved(text), text)
            return read(kind, node, self._reading)
        except Wrong as wrong:
            raise wrong.under(entry.word) from None
        except ValueError:
            raise Wrong(node, kind.wrong(text, YAML).sentence, entry.word) from None

    def _value(self, entry: _Entry, key: str, kind: Kind | None) -> Any:
        """The value of a key, None without it; what is wrong is kept."""
        if key not in entry.rest or kind is None:
            return None
        try:
            return read_itself(kind, entry.rest[key], self._reading)
        except Wrong as wrong:
            self._reading.wrong(wrong.node, key, wrong.message)
        return None

    def _read_value(self, entry: _Entry, kind: Kind) -> Any:
        try:
            return read_itself(kind, entry.value, self._reading)
        except Wrong as wrong:
            raise wrong.under(entry.word) from None

    def _check_keys(self, entry: _Entry, known: Sequence[str]) -> None:
        for name in entry.rest:
            if name not in known:
                hint = nearest(name, known)
                self._reading.wrong(entry.key(name), name, f"a step with {entry.word} has no such key; {hint}")
        self._value(entry, "note", STEP_KEYS["note"].kind)

    def _saves(self, entry: _Entry, key: str, name: str, kind: str) -> None:
        found = SAVED.fullmatch("$" + name)
        if name in self._actors:
            self._reading.wrong(entry.rest[key], key, f"{name!r} is already the name of an actor")
        elif found is None or found[2]:
            self._reading.wrong(entry.rest[key], key, f"{name!r} is not a name: use letters, digits, _ and -")
        elif self._reading.saved.setdefault(name, kind) != kind:
            there = self._reading.saved[name]
            self._reading.wrong(entry.rest[key], key, f"{name!r} is already the name of a {there}: use another one")


def _scalar(node: Node, text: str) -> Scalar:
    """A part of a text as a text of its own."""
    return Scalar(node.place, text, text, is_plain=False)


def _fault_hint(entry: _Entry, verb: str = "") -> str:
    fault = "{api: OffsetCommit, error: NOT_COORDINATOR}"
    if (entry.word, verb) == ("broker", "fault"):
        return f"; {{fault: {fault}}} sets one"
    return f"; {fault} sets one" if entry.word == "fault" else ""


def _unit_hint(name: str, by_key: Mapping[str, Argument], node: Node) -> str:
    """For a duration under the key for a number: the other key."""
    stem, _, unit = name.rpartition("_")
    is_text = isinstance(node, Scalar) and isinstance(node.value, str)
    return f"; {stem} takes a duration" if unit in ("ms", "s") and stem in by_key and is_text else ""
