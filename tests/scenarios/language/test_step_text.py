"""A step in one line can be read again."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.scenarios.language.kinds import Reading, plain
from fakebroker.scenarios.language.parameters import Filling, node_of
from fakebroker.scenarios.language.reading import read_scenario
from fakebroker.scenarios.language.secrets import Hiding
from fakebroker.scenarios.language.step_text import MAX_CHARS, text_of
from fakebroker.scenarios.language.yaml_file import Table, parse_yaml
from fakebroker.scenarios.script import AnyOrder, Repeat, SourceLine

ROOT = Path(__file__).resolve().parents[3]
FILES = [path for path in sorted((ROOT / "scenarios").rglob("*.yaml")) if "common" not in path.parts]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_steps_of_our_scenarios_are_shown_as_yaml(path: Path) -> None:
    """What a transcript shows of a step is a step again."""
    for step in read_scenario(path).timeline:
        if not isinstance(step, AnyOrder | Repeat) and len(step.text) <= MAX_CHARS:
            assert plain(parse_yaml(f"{{{step.text}}}", "f"))


TEXTS = st.text(st.characters(exclude_categories=["Cs"], max_codepoint=0xFFFF), max_size=20)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-(10**9), 10**9), TEXTS)


@given(st.one_of(SCALARS, st.lists(SCALARS, max_size=3)))
def test_values_are_shown_as_yaml(value: object) -> None:
    """Texts that look like something else stand in quotes."""
    place = SourceLine("f", 1)
    shown = text_of("a", node_of("heartbeat", place), {"key": node_of(value, place)}, Hiding())

    assert plain(parse_yaml(f"{{{shown}}}", "f")) == {"a": "heartbeat", "key": value}


def test_a_long_step_is_cut() -> None:
    """A transcript keeps lines that can be read."""
    place = SourceLine("f", 1)
    shown = text_of("a", node_of("produce orders-0", place), {"records": node_of(["x" * 50] * 10, place)}, Hiding())

    assert shown.endswith("...")
    assert len(shown) == MAX_CHARS + 3


@pytest.mark.parametrize(
    ("api", "secret"), [("SaslAuthenticate", "auth_bytes"), ("AlterUserScramCredentials", "upsertions")]
)
def test_secrets_of_requests_are_not_shown(api: str, secret: str) -> None:
    """A field of a request that is secret, or holds what is, is not shown; nor are passwords of other steps."""
    place = SourceLine("f", 1)
    rest = {each: node_of("hunter2", place) for each in ("password", "token", secret)}
    shown = text_of("a", node_of(f"request {api}", place), {**rest, "version": node_of(0, place)}, Hiding())

    assert shown == f"a: request {api}, password: (redacted), token: (redacted), {secret}: (redacted), version: 0"
    assert text_of("a", node_of("request Nothing", place), {}, Hiding()) == "a: request Nothing"


CHANGES = """{a: request IncrementalAlterConfigs, resources: [{resource_type: 4, resource_name: "1", configs:
  [{name: ssl.key.password, config_operation: 0, value: VALUE}, {name: log.retention.ms, config_operation: 0, value: 1}]
}]}"""


@pytest.mark.parametrize(
    "step",
    [
        CHANGES,
        CHANGES.replace("Incremental", "").replace(", config_operation: 0", ""),
        "{a: request, api_name: SaslAuthenticate, auth_bytes: VALUE}",
        "{a: request AlterUserScramCredentials, hex: VALUE}",
        "{a: request SaslAuthenticate, auth_bytes: {hex: VALUE}}",
        "{a: alter_configs '1', kind: broker, config: {ssl.key.password: VALUE, log.retention.ms: '1'}}",
        "{a: create_topic t, config: {no.such.setting: VALUE, retention.ms: '1'}}",
        "{a: login alice, password: VALUE}",
        "{users: add alice, password: VALUE}",
        "{node: restart 1, config: {ssl.key.password: VALUE}}",
    ],
)
@pytest.mark.parametrize("value", ["hunter2", "${other}", "a${other}b"])
def test_no_step_shows_a_secret_nor_the_parameter_it_came_from(step: str, value: str) -> None:
    """Wherever it is; what stands beside it is shown."""
    root = parse_yaml(step.replace("VALUE", f'"{value}"'), "f")
    place = SourceLine("f", 1)
    filled = Filling({"other": node_of("hunter2", place)}, Reading()).filled(root)
    assert isinstance(filled, Table)
    (word, first), *rest = filled.entries.items()
    hiding = Hiding()
    shown = text_of(word, first, dict(rest), hiding)
    assert "hunter2" not in shown
    assert "(redacted)" in shown
    assert ("retention.ms" in step) == ("retention.ms" in shown)
    assert hiding.parameters == ({"other"} if "$" in value else set())
