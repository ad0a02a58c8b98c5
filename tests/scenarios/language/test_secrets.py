"""What is wrong with a scenario is said without its secrets."""

import pytest

from fakebroker.scenarios.errors import ScenarioError
from fakebroker.scenarios.language.reading import read_scenario_text

SECRET = "77345987"  # a number, where a text belongs


@pytest.mark.parametrize(
    "wrong",
    [
        f"users: {{alice: {SECRET}}}",
        f"users: {{alice: [{SECRET}]}}",
        f"config: {{sasl.jaas.config: [{SECRET}]}}",
        f"config: {{sasl.jaas.config: {{a: {SECRET}}}}}",
        f"actors: {{a: {{user: alice, password: {SECRET}}}}}",
        f"actors: {{a: {{token: [{SECRET}]}}}}",
        f"actors: [a]\ntimeline:\n  - {{a: login alice, password: {SECRET}}}",
        f"actors: [a]\ntimeline:\n  - {{a: login alice, token: {{a: {SECRET}}}}}",
        f"timeline:\n  - {{users: add alice, password: {SECRET}}}",
    ],
)
def test_a_secret_of_a_wrong_form_is_not_repeated(wrong: str) -> None:
    """Passwords, tokens and settings: the error says where, and what would be right."""
    rest = "" if "timeline" in wrong else "timeline: []\n"
    with pytest.raises(ScenarioError, match="should be") as raised:
        read_scenario_text(f"about: x\n{wrong}\n{rest}")
    assert SECRET not in str(raised.value)
