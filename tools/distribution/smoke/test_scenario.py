"""A scenario in YAML."""

from fakebroker import play

SCENARIO = """
scenario: an offset expires
topics: {orders: 1}
steps:
  - client: c
    commit: {group: billing, offsets: {orders-0: 1}}
"""


def test_a_scenario_passes(tmp_path):
    file = tmp_path / "expiry.yaml"
    file.write_text(SCENARIO)
    play(file)
