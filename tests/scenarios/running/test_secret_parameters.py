"""Parameters whose values are secrets, by any name: no transcript shows them, nor the command that plays it again."""

from pathlib import Path

from fakebroker.scenarios.language.reading import read_scenario
from fakebroker.scenarios.running.run import Task, play
from fakebroker.scenarios.running.transcript import header_of

MAIN = """about: Secrets come from parameters.
parameters: {one: h-1, two: h-2, three: h-3, four: h-4, five: h-5, six: h-6, seven: h-7, my_pw: h-8,
  plain: shown}
config: {sasl.enabled.mechanisms: PLAIN, ssl.key.password: "${three}"}
users: {alice: "${one}"}
actors: {a: {user: alice, password: "${two}"}}
timeline:
  - {users: add bob, password: "x${four}"}
  - {include: part.yaml, with: {inner: "${five}", plain: "${plain}"}}
  - any_order:
      - {repeat: 2, steps: [{users: add carol, password: "${six}"}]}
  - {users: add dora, password: "y"}
  - {a: request SaslAuthenticate, auth_bytes: "${seven}", note: "${plain}"}
"""
PART = """about: Is included.
parameters: {inner: "", plain: ""}
timeline:
  - {users: "add ${plain}", password: "${inner}"}
"""


def written(folder: Path) -> Path:
    (folder / "part.yaml").write_text(PART)
    (folder / "main.yaml").write_text(MAIN)
    return folder / "main.yaml"


def test_the_header_shows_no_parameter_that_stands_for_a_secret(tmp_path: Path) -> None:
    """Found by where it is used: in the file, in its steps, or in the files that it includes."""
    scenario = read_scenario(written(tmp_path))
    assert set(scenario.secret_parameters) == {"one", "two", "three", "four", "five", "six", "seven"}
    header = "\n".join(header_of(scenario))
    assert "h-" not in header
    assert "plain: shown" in header


def test_the_command_that_repeats_a_play_has_no_secrets(tmp_path: Path) -> None:
    """Those of settings neither."""
    parameters = {"one": "h-1", "my_pw": "h-8", "plain": "seen"}
    config = {"ssl.key.password": "h-3", "log.retention.ms": "1000"}
    outcome = play(Task(str(written(tmp_path)), parameters, config=config))
    assert outcome.secret_parameters
    assert "h-" not in outcome.repeat
    assert "--set plain=seen" in outcome.repeat
    assert "--config log.retention.ms=1000" in outcome.repeat
