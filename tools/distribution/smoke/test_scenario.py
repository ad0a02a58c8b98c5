"""A scenario in YAML."""

from fakebroker import play

SCENARIO = """
about: Offsets of a group without members expire.
topics: {orders: {partitions: 1}}
actors: [a]
timeline:
  - {a: commit, group_id: billing, offsets: {orders-0: 42}}
  - {clock: advance, days: 8}
  - {expect: {group: billing, offsets: {}}}
"""


def test_a_scenario_passes(tmp_path):
    file = tmp_path / "expiry.yaml"
    file.write_text(SCENARIO)
    play(file)
