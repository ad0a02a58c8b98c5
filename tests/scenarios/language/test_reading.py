"""Files as scenarios: what stands at their top, actors, topics, parameters, includes."""

import json
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fakebroker.protocol.errors import FakebrokerError
from fakebroker.scenarios.errors import MAX_PROBLEMS, ScenarioError
from fakebroker.scenarios.language.declaration import ALL_WORDS
from fakebroker.scenarios.language.reading import find_scenarios, read_scenario, read_scenario_text
from fakebroker.scenarios.script import ClientStep
from tests.scenarios.texts import HEAD, problems_of, steps_of, with_steps

WHOLE_FILE = """
about: >
  All keys
  of a file.
source: [KIP-211, "#12"]
release: "2.0"
profile: kafka
racks: [a, b]
config: {offsets.retention.minutes: 10080, auto.create.topics.enable: false}
seed: 7
jitter: 0ms..20ms
parameters: {retention: 7d}
topics: {orders: {partitions: 2, config: {retention.ms: -1}}, empty: }
actors: {a: {client_id: svc-a, versions: {JoinGroup: 4}, node: 2}, b: {}, c: }
timeline: []
"""


def test_a_file_may_say_all_that_there_is_to_say() -> None:
    """Every key of a file arrives in the scenario."""
    scenario = read_scenario_text(WHOLE_FILE, "all")

    assert (scenario.name, scenario.about, scenario.sources) == ("all", "All keys of a file.", ("KIP-211", "#12"))
    assert (scenario.release, scenario.profile, scenario.nodes, scenario.racks) == ("2.0", "kafka", 2, ["a", "b"])
    assert scenario.config == {"offsets.retention.minutes": 10080, "auto.create.topics.enable": False}
    assert (scenario.seed, scenario.jitter_ms, scenario.parameters) == (7, (0, 20), {"retention": "7d"})
    assert scenario.topics == {"orders": {"partitions": 2, "config": {"retention.ms": -1}}, "empty": {}}
    actors = [(each.name, each.client_id, each.versions, each.node) for each in scenario.actors.values()]
    assert actors == [("a", "svc-a", {"JoinGroup": 4}, 2), ("b", "b", {}, None), ("c", "c", {}, None)]


def test_little_is_needed() -> None:
    """What is not said is as usual."""
    scenario = read_scenario_text("about: Nothing.\ntimeline: []")

    assert (scenario.release, scenario.profile, scenario.nodes, scenario.racks) == ("4.3", "test", 1, None)
    assert (scenario.seed, scenario.jitter_ms, scenario.config, scenario.topics) == (0, (0, 5), {}, {})
    assert read_scenario_text("about: x\nsource: KIP-1\ntimeline: []").sources == ("KIP-1",)


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("hello", ["f.yaml:1: a scenario is a mapping (about: ...), not 'hello'"]),
        ("- a", ["f.yaml:1: a scenario is a mapping (about: ...), not a list"]),
        ("timeline: []", ["f.yaml:1: about: this key is missing"]),
        ("about: x", ["f.yaml:1: timeline: this key is missing"]),
        ("about: x\ntimeline: soon", ["f.yaml:2: timeline: should be a list of steps, not 'soon'"]),
        ("about: x\ntimelin: []", ["f.yaml:1: timeline: this key is missing",
                                   "f.yaml:2: timelin: a file has no such key; did you mean 'timeline'?"]),
        ("about: [x]\ntimeline: []", ["f.yaml:1: about: should be a text, not ['x']"]),
        ("about: x\nrelease: 4.3\ntimeline: []",
         ['f.yaml:2: release: should be a text, not 4.3; in quotes it is one: "4.3"']),
        ("about: x\nprofile: tests\ntimeline: []",
         ["f.yaml:2: profile: there is no 'tests'; did you mean 'test'?"]),
        ("about: x\nnodes: 0\ntimeline: []", ["f.yaml:2: nodes: should be a whole number from 1 to 1000, not 0"]),
        ("about: x\nnodes: 3\nracks: [a]\ntimeline: []", ["f.yaml:3: racks: there are 1 racks for 3 nodes"]),
        ("about: x\njitter: 5s..1s\ntimeline: []", ["f.yaml:2: jitter: '5s..1s' runs from more to less"]),
        ("about: x\nconfig: [a]\ntimeline: []",
         ["f.yaml:2: config: should be a mapping, each value a text, number, true, false or null, not ['a']"]),
        ("about: x\nconfig: {offsets.retention.minuts: 5}\ntimeline: []",
         [(
             "f.yaml:2: config: there is no setting 'offsets.retention.minuts'; "
             "did you mean 'offsets.retention.minutes'?"
         )]),
        ("about: x\nconfig:\n  offsets.retention.minutes: soon\ntimeline: []",
         ["f.yaml:3: config: offsets.retention.minutes: 'soon' is not a number of type int"]),
        ("about: x\ntopics: {orders: {config: {retention.sm: 5}}}\ntimeline: []",
         ["f.yaml:2: orders: there is no topic setting 'retention.sm'; did you mean 'retention.ms'?"]),
        ("about: x\nactors: a\ntimeline: []",
         ["f.yaml:2: actors: should be a list of names or a mapping, [a, b], not 'a'"]),
        ("about: x\nactors: [a, 3]\ntimeline: []", ["f.yaml:2: actors: should be a name, not 3"]),
        ("about: x\nactors: [a, a]\ntimeline: []", ["f.yaml:2: actors: 'a' is there twice"]),
        ("about: x\nactors: [clock]\ntimeline: []",
         ["f.yaml:2: clock: an actor cannot be named 'clock': it is a word of the language"]),
        ("about: x\nactors: ['a b']\ntimeline: []",
         ["f.yaml:2: a b: the name of an actor may have letters, digits, _ and -"]),
        ("about: x\nactors: {a: {nod: 1}}\ntimeline: []",
         ["f.yaml:2: a: there is no field 'nod'; did you mean 'node'?"]),
        ("about: x\nactors: {a: {node: 2}}\ntimeline: []", ["f.yaml:2: a: there is no node 2; there are 1"]),
        ("about: x\ntopics: {o o: {}}\ntimeline: []",
         ["f.yaml:2: o o: 'o o' is not a valid topic name: use 1 to 249 of a-z A-Z 0-9 . _ -, but not '.' or '..'"]),
        ("about: x\ntopics: {o: {partitions: 0}}\ntimeline: []",
         ["f.yaml:2: o: partitions: should be a whole number, 1 or more, not 0"]),
        ("about: x\nnodes: 2\ntopics: {o: {replication_factor: 3}}\ntimeline: []",
         ["f.yaml:3: topics: o: 3 replicas need as many brokers; nodes is 2"]),
        ("about: x\nactors: {a: {versions: {JoinGroup: 44}}}\ntimeline: []",
         ["f.yaml:2: a: versions: JoinGroup has no version 44; there are 0 to 9"]),
        ("about: x\nparameters: {a: 1s, b: '${a}'}\ntimeline: []",
         ["f.yaml:2: b: parameters cannot contain other parameters"]),
        ("about: x\nactors: {a: {versions: {JoinGrop: 2}}}\ntimeline: []",
         ["f.yaml:2: a: versions: there is no API 'JoinGrop'; did you mean 'JoinGroup'?"]),
        ("about: x\ntopics: {o: {partition: 2}}\ntimeline: []",
         ["f.yaml:2: o: there is no field 'partition'; did you mean 'partitions'?"]),
        ("about: x\nparameters: 3\ntimeline: []",
         ["f.yaml:2: parameters: should be a mapping of names to values, not 3"]),
        ("about: x\nparameters: {'a b': 3}\ntimeline: []",
         ["f.yaml:2: a b: the name of a parameter may have letters, digits and _"]),
        ('about: x\nseed: "${s}"\ntimeline: []', ["f.yaml:2: there is no parameter 's'; there are none",
                                                  "f.yaml:2: seed: should be a whole number, 0 or more, not '${s}'"]),
    ],
)  # fmt: skip
def test_what_is_wrong_at_the_top_is_said(text: str, problems: list[str]) -> None:
    """Each problem has its line, its key, and what would be right."""
    assert problems_of(text) == problems


def test_an_unknown_release_is_refused() -> None:
    """The message lists those that there are."""
    (problem,) = problems_of('about: x\nrelease: "0.9"\ntimeline: []')

    assert problem.startswith("f.yaml:2: release: there is no release '0.9'; there are ")


def test_all_problems_are_reported_at_once_up_to_a_number() -> None:
    """One reading shows what is wrong in many steps, in the order of their lines."""
    problems = problems_of(with_steps(*["{a: jion billing}"] * 3, "{b: heartbeat, expct: {}}"))
    assert [problem.split(": ")[0] for problem in problems] == [f"f.yaml:{line}" for line in (5, 6, 7, 8)]

    assert len(problems_of(with_steps(*["{a: jion billing}"] * 100))) == MAX_PROBLEMS


# Parameters


def test_a_parameter_keeps_its_type_where_it_is_the_whole_value() -> None:
    """Inside of a text it is text."""
    head = "parameters: {n: 3, group: billing, names: [orders]}\n" + HEAD
    line = '{a: "join ${group}-${n}", topics: "${names}", session_timeout_ms: "${n}"}'
    (step,) = steps_of(line, head=head)

    assert isinstance(step, ClientStep)
    assert step.arguments == {"group_id": "billing-3", "topics": ["orders"], "session_timeout_ms": 3}


def test_parameters_that_are_given_go_before_those_of_the_file() -> None:
    """A text means what it would mean in the file, unless the file has a text there."""
    head = "parameters: {n: 3, group: billing}\n" + HEAD
    line = '{a: "join ${group}", session_timeout_ms: "${n}"}'
    (step,) = steps_of(line, head=head, parameters={"n": "5", "group": "7"})

    assert isinstance(step, ClientStep)
    assert step.arguments == {"group_id": "7", "session_timeout_ms": 5}
    with pytest.raises(ScenarioError, match=r"grop: there is no such parameter; did you mean 'group'\?"):
        steps_of(head=head, parameters={"grop": "x"})


def test_a_parameter_in_a_key() -> None:
    """Topics of offsets may be parameters."""
    head = "parameters: {topic: orders}\n" + HEAD
    (step,) = steps_of('{a: commit, offsets: {"${topic}-0": 1}}', head=head)

    assert isinstance(step, ClientStep)
    assert step.arguments == {"offsets": {("orders", 0): 1}}


def test_parameters_do_not_blow_a_file_up() -> None:
    """A large value that is used often is refused."""
    head = f"parameters: {{big: [{', '.join('x' * 5000)}]}}\n" + HEAD
    lines = ['{a: join billing, topics: "${big}"}'] * 20

    assert any(
        "put more than 50000 values into this file" in problem for problem in problems_of(with_steps(*lines, head=head))
    )


# Includes


def write(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder / "main.yaml"


PART = """
about: A part.
parameters: {group: other}
actors: [a, c]
topics: {payments: {}}
timeline:
  - {a: "join ${group}"}
  - {c: heartbeat, save: {seen: error}}
"""


def test_an_included_timeline_stands_in_place_of_the_step(tmp_path: Path) -> None:
    """Its actors and topics are added, its parameters come from `with`, and what it saves is known afterwards."""
    lines = ["{b: heartbeat}", "{include: part.yaml, with: {group: billing}}", "{c: heartbeat, expect: {error: $seen}}"]
    scenario = read_scenario(write(tmp_path, main=with_steps(*lines), part=PART))

    assert [step.text for step in scenario.timeline] == [
        "b: heartbeat",
        "a: join billing",
        "c: heartbeat",
        "c: heartbeat",
    ]
    assert list(scenario.actors) == ["a", "b", "c"]
    assert list(scenario.topics) == ["orders", "payments"]
    assert scenario.timeline[1].place.file == str(tmp_path / "part.yaml")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (
            "{include: prat.yaml}",
            "include: cannot read 'prat.yaml': No such file or directory; did you mean 'part.yaml'",
        ),
        ("{include: 3}", "include: should be the path of a file, not 3"),
        ("{include: part.yaml, with: [a]}", "include: with: should be a mapping of parameters, not a list"),
        ("{include: part.yaml, wiht: {}}", "wiht: a step with include has no such key; did you mean 'with'?"),
        ("{include: main.yaml}", "include: files include each other: main.yaml -> main.yaml"),
        ("{include: .}", "include: cannot read '.': Is a directory"),
    ],
)
def test_an_include_that_cannot_be_is_named(tmp_path: Path, line: str, problem: str) -> None:
    """The error names the line of the include."""
    path = write(tmp_path, main=with_steps(line), part=PART)
    with pytest.raises(ScenarioError) as caught:
        read_scenario(path)

    assert f"main.yaml:5: {problem}" in str(caught.value)


def test_wrong_parameters_and_steps_of_an_included_file_are_reported_with_that_file(tmp_path: Path) -> None:
    """A reader looks where the mistake is."""
    path = write(
        tmp_path, main=with_steps("{include: part.yaml, with: {grop: x}}"), part=PART + "  - {nodd: heartbeat}\n"
    )
    with pytest.raises(ScenarioError) as caught:
        read_scenario(path)

    assert [str(each).removeprefix(str(tmp_path)) for each in caught.value.problems] == [
        "/part.yaml:3: grop: there is no such parameter; did you mean 'group'?",
        "/part.yaml:9: nodd: 'nodd' is neither an actor nor a word of the broker; did you mean 'node'?",
    ]


def test_cycles_of_includes_are_refused(tmp_path: Path) -> None:
    """However many files are in one."""
    texts = {f"p{n}": with_steps(f"{{include: p{(n + 1) % 3}.yaml}}") for n in range(3)}
    write(tmp_path, **texts)

    with pytest.raises(ScenarioError, match=r"files include each other: p0.yaml -> p1.yaml -> p2.yaml -> p0.yaml"):
        read_scenario(tmp_path / "p0.yaml")


def test_many_includes_are_refused_quickly(tmp_path: Path) -> None:
    """Files that include the next one many times do not grow without end."""
    texts = {f"p{n}": with_steps(*[f"{{include: p{n + 1}.yaml}}"] * 10) for n in range(6)}
    write(tmp_path, **texts, p6=with_steps())
    began = time.perf_counter()

    with pytest.raises(ScenarioError, match="there are more than 200 includes, or 16 within each other"):
        read_scenario(tmp_path / "p0.yaml")
    assert time.perf_counter() - began < 10


@pytest.mark.parametrize("part", ["actors: {a: {node: 1}}", "topics: {orders: {}}"])
def test_an_included_file_cannot_say_otherwise(tmp_path: Path, part: str) -> None:
    """An actor or a topic is one thing in all files."""
    with pytest.raises(ScenarioError, match=r"main.yaml:5: include: the included file declares the"):
        read_scenario(write(tmp_path, main=with_steps("{include: part.yaml}"), part=f"timeline: []\n{part}"))


def test_an_included_file_has_no_broker_of_its_own(tmp_path: Path) -> None:
    """Nodes and settings are those of the outermost file."""
    with pytest.raises(ScenarioError, match=r"part.yaml:2: nodes: a file has no such key"):
        read_scenario(write(tmp_path, main=with_steps("{include: part.yaml}"), part="about: x\nnodes: 3\ntimeline: []"))


def test_a_text_includes_nothing() -> None:
    """A scenario that comes over a network reads no files."""
    assert problems_of(with_steps("{include: part.yaml}")) == [
        "f.yaml:5: include: this scenario is not from a file, so it cannot include files"
    ]


# Files


def test_scenarios_are_found_in_folders(tmp_path: Path) -> None:
    """Folders named `common` are for includes only, each file comes once, and a path that is not there is an error."""
    for name in ("b.yaml", "a/x.yaml", "a/common/y.yaml", "common/z.yaml", "a/notes.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")

    found = find_scenarios([tmp_path / "b.yaml", tmp_path])
    assert [str(path.relative_to(tmp_path)) for path in found] == ["b.yaml", "a/x.yaml"]
    assert find_scenarios([tmp_path / "common"]) == [tmp_path / "common" / "z.yaml"]
    with pytest.raises(FakebrokerError, match="there is no file or folder"):
        find_scenarios([tmp_path / "nowhere"])


def test_a_file_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    """As everywhere in Python."""
    with pytest.raises(FileNotFoundError):
        read_scenario(tmp_path / "nowhere.yaml")


PIECES = st.sampled_from(
    [*ALL_WORDS, "a", "b", "join", "billing", "heartbeat", "orders-0", "$x", "${x}", "{", "}", "[", "]", ",", ": ",
     "\n", "\n  - ", "about", "timeline", "actors", "expect", "save", "as", "with", "3s", "3s..5s", "&x", "*x", "!!int",
     "'", '"', "#", "~", "1", "-", "error", "api", "later", "steps", "any", "matches", "(", " "]
)  # fmt: skip


@given(st.one_of(st.text(), st.lists(PIECES, max_size=40).map("".join), st.binary()))
@example("\ud800")
@example(b"\x00")
def test_no_text_raises_anything_else(text: str | bytes) -> None:
    """Whatever stands in a file, it is read, or refused with a ScenarioError."""
    for each in (text, with_steps(text) if isinstance(text, str) else HEAD.encode() + text):
        with suppress(ScenarioError):
            read_scenario_text(each, "f.yaml")


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), PIECES),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.one_of(st.text(), PIECES), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(PIECES, VALUES, max_size=4), max_size=4))
def test_no_data_raises_anything_else(steps: list[dict[str, object]]) -> None:
    """The same with texts that are YAML: any values at any keys of steps."""
    text = json.dumps({"about": "x", "actors": ["a", "b"], "parameters": {"x": 1}, "timeline": steps})
    with suppress(ScenarioError):
        read_scenario_text(text, "f.yaml")
