"""Scenarios that tests of campaigns play."""

from pathlib import Path
from textwrap import dedent

PASSES = dedent("""\
    about: A commit is there.
    topics: {orders: {partitions: 1}}
    actors: [a]
    timeline:
      - {a: commit, group_id: billing, offsets: {orders-0: 42}}
      - {expect: {group: billing, offsets: {orders-0: 42}}}
    """)

# Which of both commits comes last depends on the seed.
DEPENDS = dedent("""\
    about: Of two commits the last one counts.
    topics: {orders: {partitions: 1}}
    actors: [a, b]
    timeline:
      - any_order:
        - {a: commit, group_id: billing, offsets: {orders-0: 41}}
        - {b: commit, group_id: billing, offsets: {orders-0: 42}}
      - {expect: {group: billing, offsets: {orders-0: 42}}}
    """)

# With a retention of 1 minute the offset is gone, with 1 day it is not.
EXPIRES = dedent("""\
    about: An offset is there an hour later.
    topics: {orders: {partitions: 1}}
    actors: [a]
    timeline:
      - include: common/commit.yaml
      - {clock: advance, hours: 1}
      - {expect: {group: billing, offsets: {orders-0: 42}}}
    """)
COMMIT = dedent("""\
    about: A commit.
    actors: [a]
    timeline:
      - {a: commit, group_id: billing, offsets: {orders-0: 42}}
    """)

BROKEN = "about: It has no timeline.\nactors: [a]\ntimelime: []\n"


def write_scenarios(folder: Path, **texts: str) -> Path:
    """Write NAME.yaml for each text, and what they include; returns the folder."""
    (folder / "common").mkdir(parents=True, exist_ok=True)
    (folder / "common" / "commit.yaml").write_text(COMMIT)
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder
