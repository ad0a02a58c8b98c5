"""The file that `fakebroker scenario new` writes."""

SCHEMA_FILE = "scenario.schema.json"


def starter_text(*, has_schema: bool = False) -> str:
    """A short scenario with comments. It passes. With `has_schema` it refers editors to SCHEMA_FILE beside it."""
    return (f"# yaml-language-server: $schema={SCHEMA_FILE}\n" if has_schema else "") + _TEXT


_TEXT = """\
# `fakebroker scenario run FILE` plays it, `fakebroker scenario check FILE` only reads it.
about: Two consumers share a topic; one crashes, and the other takes over its partition when the session ends.
source: []                              # KIPs and issues that tell the story
topics: {orders: {partitions: 2}}
actors: [a, b]                          # scripted clients: they do what the timeline says, and nothing else

timeline:
  # The first word of a step says who acts, its text says what is done; other keys are arguments.
  - {a: join billing, topics: [orders], session_timeout: 10s, expect: {error: NONE}}
  - {a: sync, assignments: {a: {orders: [0, 1]}}, expect: {error: NONE}}
  - {a: commit, offsets: {orders-0: 42}, expect: {error: NONE}}

  # b's JoinGroup waits for a to join again: `later` lets the timeline go on, `answered` looks at the answer.
  - {b: join billing, topics: [orders], later: true}
  - {a: heartbeat, expect: {error: REBALANCE_IN_PROGRESS}}
  - {a: rejoin, expect: {error: NONE, generation_id: 2}}
  - {b: answered, within: 1s, expect: {error: NONE, generation_id: 2}}
  - {a: sync, assignments: {a: {orders: [0]}, b: {orders: [1]}}, expect: {error: NONE}}
  - {b: sync, expect: {error: NONE}}
  - {expect: {group: billing, state: Stable, members: 2}}

  # Time passes in no time. a crashes (it sends nothing), b heartbeats and learns of it.
  - {pass: 6s}
  - {b: heartbeat, expect: {error: NONE}}
  - {pass: 6s}
  - {b: heartbeat, expect: {error: REBALANCE_IN_PROGRESS}}
  - {b: rejoin, expect: {error: NONE, generation_id: 3}}
  - {b: sync, assignments: {b: {orders: [0, 1]}}, expect: {error: NONE}}
  - {expect: {group: billing, state: Stable, members: 1, offsets: {orders-0: 42}}}
"""
