"""Comparing with a Kafka: the whole way, with a fakebroker in the place of the Kafka."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from fakebroker import FakeBroker
from fakebroker.broker.release import RELEASES, release
from fakebroker.cli.main import main
from fakebroker.client.security import ClientConfig
from fakebroker.protocol.listeners import SASL_PLAINTEXT
from fakebroker.scenarios.language.reading import read_scenario, read_scenario_text
from fakebroker.scenarios.on_kafka.against import Comparison, How, compare, compare_all
from fakebroker.scenarios.on_kafka.against import Result as Outcome
from fakebroker.scenarios.on_kafka.kafka_world import release_with, settings_of
from tests.support.secured import SECURED, command_config, secured_broker

STORY = """
about: A member commits.
topics: {orders: {partitions: 2}}
actors: [a, b]
timeline:
  - {topic: produce orders, values: [one, two]}
  - {a: join billing, topics: [orders], expect: {error: NONE, generation_id: 1}}
  - {b: join billing, topics: [orders], later: true}
  - {a: heartbeat, expect: {error: REBALANCE_IN_PROGRESS}}
  - {a: rejoin, expect: {error: NONE}}
  - {b: answered, expect: {error: NONE}}
  - {b: sync, later: true}
  - {a: sync, assignments: {a: {orders: [0]}, b: {orders: [1]}}, expect: {error: NONE}}
  - {b: answered, expect: {error: NONE}}
  - {a: commit, offsets: {orders-0: 2}, expect: {error: NONE}}
  - {expect: {group: billing, state: Stable, members: 2, offsets: {orders-0: 2}}}
  - {a: fetch orders-0, offset: 0, expect: {records: [{value: one}, {value: two}]}}
"""
WITH_CLOCK = STORY + "  - {clock: advance 8d}\n  - {expect: {group: billing, offsets: {}}}\n"


def compared(broker: FakeBroker, text: str = STORY, **how: Any) -> Comparison:
    """What came of a scenario, with `broker` in the place of a Kafka."""
    return compare(read_scenario_text(text, name="story"), How(ClientConfig(broker.bootstrap), **how))


def test_a_story_that_goes_the_same_way_is_the_same_as_a_whole(fakebroker: FakeBroker) -> None:
    """Also a second time on the same broker: each play has names of its own."""
    for _ in range(2):
        comparison = compared(fakebroker)
        assert (comparison.result, comparison.differences, comparison.left_out) == (Outcome.SAME, (), ())
        assert comparison.is_whole
        assert comparison.release == RELEASES[-1]
        assert comparison.requests == 10


def test_the_kafka_is_left_as_it_was(fakebroker: FakeBroker) -> None:
    """Groups with members are deleted, too, and topics; those of others stay."""
    fakebroker.create_topic("theirs")
    fakebroker.group("theirs").commit({("theirs", 0): 1})

    compared(fakebroker)

    assert [topic.name for topic in fakebroker.topics if not topic.name.startswith("__")] == ["theirs"]
    assert [group.group_id for group in fakebroker.groups] == ["theirs"]


def test_what_a_client_sees_otherwise_is_reported_with_its_step(fakebroker: FakeBroker) -> None:
    """The difference in the answer, and the expectation that does not hold."""
    fakebroker.fault(api="OffsetCommit", error="NOT_COORDINATOR")

    comparison = compared(fakebroker)

    assert comparison.result is Outcome.DIFFERS
    first = comparison.differences[0]
    assert first.startswith("line 15: a: commit")
    assert first.endswith("ErrorCode: fakebroker NONE, Kafka NOT_COORDINATOR")
    assert any("does not hold on Kafka: error: expected NONE" in each for each in comparison.differences)


def test_an_answer_that_comes_late_is_reported(fakebroker: FakeBroker) -> None:
    """A second is more than two machines differ in."""
    fakebroker.fault(api="SyncGroup", client_id="a", delay_s=1.0)

    assert any("by Kafka after" in each for each in compared(fakebroker).differences)


def test_steps_that_cannot_be_taken_are_left_out_on_both(fakebroker: FakeBroker) -> None:
    """What then holds on neither is no difference, but the story is not kept."""
    comparison = compared(fakebroker, WITH_CLOCK)

    assert comparison.result is Outcome.SAME
    assert [each.step.text for each in comparison.left_out] == ["clock: advance 8d"]
    assert len(comparison.unmet) == 1
    assert not comparison.is_whole


def test_strict_refuses_what_cannot_be_played_as_a_whole(fakebroker: FakeBroker) -> None:
    """Nothing of it is played."""
    comparison = compared(fakebroker, WITH_CLOCK, is_strict=True)

    assert (comparison.result, comparison.why, comparison.requests) == (Outcome.REFUSED, "1 step cannot be taken", 0)


@pytest.mark.parametrize(
    ("head", "why"),
    [
        ("nodes: 3", "it needs 3 brokers; this Kafka has 1"),
        ('release: "2.0"', f"it needs Kafka 2.0.1; this one is {RELEASES[-1]}"),
        ("profile: kafka", "must be started with group.initial.rebalance.delay.ms=3000 (it has 0)"),
        ("config: {group.max.size: 7}", "must be started with group.max.size=7 (it has 2147483647)"),
    ],
)
def test_a_scenario_for_another_kafka_is_not_played(fakebroker: FakeBroker, head: str, why: str) -> None:
    """The reason says what the Kafka would have to be."""
    comparison = compared(fakebroker, f"{head}{STORY}")

    assert comparison.result is Outcome.CANNOT
    assert why in comparison.why


def test_a_pinned_version_that_is_not_served_is_reported(fakebroker: FakeBroker) -> None:
    """Kafka 4 serves Fetch from v4 on."""
    text = STORY.replace("actors: [a, b]", "actors: {a: {versions: {Fetch: 3}}, b: {}}")

    assert compared(fakebroker, text).why == "a speaks Fetch v3; this Kafka serves v4-18"


def test_an_older_kafka_is_compared_with_its_own_release(fakebroker_factory: Callable[..., FakeBroker]) -> None:
    """The release is known by the versions that it advertises."""
    comparison = compared(fakebroker_factory(as_release="3.9"))

    assert (comparison.result, comparison.release) == (Outcome.SAME, "3.9.1")


def test_a_scenario_that_fails_everywhere_is_a_difference(
    fakebroker: FakeBroker, fakebroker_factory: Callable[..., FakeBroker]
) -> None:
    """Unless it is about another release than that of the Kafka: then it says nothing about that one."""
    wrong = STORY.replace("generation_id: 1", "generation_id: 5")

    here = compared(fakebroker, wrong)
    assert here.result is Outcome.DIFFERS
    assert here.differences[0].endswith("(neither on Kafka nor on fakebroker)")
    older = compared(fakebroker_factory(as_release="3.9"), wrong)
    assert (older.result, older.is_in_part, len(older.unmet)) == (Outcome.SAME, True, 1)


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_is_known_by_its_versions(name: str) -> None:
    """No two of them advertise the same, but 1.0 to 4.3 are distinguished even if a broker lists more than we know."""
    found = release_with({**release(name).versions, 999: (0, 0)})

    assert release(found).versions == release(name).versions


def test_settings_count_where_they_matter() -> None:
    """The initial delay where somebody joins, the least session timeout where one is shorter; config always."""
    short = STORY.replace("topics: [orders], expect", "topics: [orders], session_timeout: 2s, expect")
    quiet = "about: x\nactors: [a]\nconfig: {group.max.size: 7}\ntimeline: [{a: describe_cluster}]"

    def settings(text: str) -> dict[str, str]:
        return settings_of(read_scenario_text(text, name="story"))

    assert settings(STORY) == {"group.initial.rebalance.delay.ms": "0"}
    assert settings(short) == {"group.initial.rebalance.delay.ms": "0", "group.min.session.timeout.ms": "1"}
    assert settings(quiet) == {"group.max.size": "7"}


# -- the command -------------------------------------------------------------------------------------------------------


def command(*arguments: object) -> Result:
    """The outcome of `fakebroker scenario run`."""
    return CliRunner().invoke(main, ["scenario", "run", *map(str, arguments)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One scenario that a Kafka can play as a whole, one that it can in part."""
    (tmp_path / "whole.yaml").write_text(STORY)
    (tmp_path / "in-part.yaml").write_text(WITH_CLOCK)
    return tmp_path


def test_the_command_says_how_each_file_went(folder: Path, fakebroker: FakeBroker) -> None:
    """A line for each, what was left out below it, and the sum."""
    result = command(folder, "--against", fakebroker.bootstrap)

    assert result.exit_code == 0, result.output
    first, left_out, unmet, second, _, total = result.output.splitlines()
    assert first.startswith(f"in part  {folder}/in-part.yaml  ")
    assert "left out: line 18: clock: advance 8d: a real Kafka's clock cannot be changed" in left_out
    assert "holds on neither: line 19" in unmet
    assert second.startswith(f"same     {folder}/whole.yaml  ")
    assert total.startswith(f"2 scenarios: 1 as on Kafka {RELEASES[-1]} at {fakebroker.bootstrap}, 1 in part")


def test_the_command_fails_for_what_differs_or_is_refused(folder: Path, fakebroker: FakeBroker) -> None:
    """Status 1 for each."""
    refused = command(folder, "--against", fakebroker.bootstrap, "--strict")
    assert (refused.exit_code, "1 refused" in refused.output) == (1, True)

    (folder / "broken.yaml").write_text("about: [")
    unread = command(folder / "broken.yaml", "--against", fakebroker.bootstrap)
    assert (unread.exit_code, unread.output[:5]) == (1, "ERROR")

    fakebroker.fault(api="Heartbeat", error="UNKNOWN_MEMBER_ID")
    differs = command(folder / "whole.yaml", "--against", fakebroker.bootstrap)
    assert (differs.exit_code, differs.output[:7]) == (1, "differs")


def test_what_differs_beside_others_is_played_once_more_by_itself(folder: Path, fakebroker: FakeBroker) -> None:
    """The second play counts: a busy Kafka is late. A difference between the brokers comes again."""
    (folder / "another.yaml").write_text(STORY)
    fakebroker.fault(api="Fetch", error="UNKNOWN_SERVER_ERROR", times=1)
    once = command(folder, "--against", fakebroker.bootstrap)
    assert once.exit_code == 0, once.output
    assert once.output.count(", played again by itself\n") >= 1  # another may be late, too

    fakebroker.fault(api="Heartbeat", error="UNKNOWN_MEMBER_ID")
    always = command(folder, "--against", fakebroker.bootstrap)
    assert (always.exit_code, always.output.count("differs ")) == (1, 3)


def test_a_step_that_differs_each_time_is_reported_once(folder: Path, fakebroker: FakeBroker) -> None:
    """With how often."""
    (folder / "whole.yaml").write_text(STORY + "  - {repeat: 3, steps: [{a: list_offsets orders-0}]}\n")
    fakebroker.fault(api="ListOffsets", client_id="a", error="UNKNOWN_SERVER_ERROR")
    output = command(folder / "whole.yaml", "--against", fakebroker.bootstrap).output

    (line,) = [line for line in output.splitlines() if "ErrorCode: fakebroker NONE" in line]
    assert line.endswith(" (3 times)"), output


def test_verbose_shows_what_happened_there(folder: Path, fakebroker: FakeBroker) -> None:
    """The transcript of the play on the Kafka, with the names of the scenario."""
    output = command(folder / "whole.yaml", "--against", fakebroker.bootstrap, "-v").output

    assert "a -> JoinGroup v9  group_id: billing, " in output
    assert "orders-0: {committed_offset: 2}" in output


@pytest.mark.parametrize("protocol", SECURED)
def test_a_secured_kafka_is_played_on(folder: Path, tmp_path: Path, protocol: str) -> None:
    """Every connection, the actors' too, speaks TLS and logs in as the client properties say."""
    properties = command_config(tmp_path, protocol)
    with secured_broker() as broker:
        address = broker.bootstrap_of(protocol)
        result = command(folder / "whole.yaml", "--against", address, "--command-config", properties)

    assert result.exit_code == 0, result.output
    assert result.output.startswith("same "), result.output


def test_a_kafka_that_wants_a_login_is_reported(folder: Path) -> None:
    """Once, before anything is played, with what to set."""
    with secured_broker(SASL_PLAINTEXT) as broker:
        result = command(folder, "--against", broker.bootstrap)

    assert result.exit_code == 3
    assert result.output.count("set security.protocol=SASL_PLAINTEXT or SASL_SSL") == 1, result.output


def test_a_kafka_that_goes_away_is_reported_for_each_scenario_that_was_left(
    folder: Path, fakebroker: FakeBroker
) -> None:
    """What was compared before stays."""
    how = How(ClientConfig(fakebroker.bootstrap))
    fakebroker.stop()

    found = list(compare_all(sorted(folder.iterdir()), read_scenario, how))

    assert [each.result for each in found] == [Outcome.ERROR, Outcome.ERROR]
    assert "refused" in found[0].why


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (["--against", "nowhere"], 2, "'nowhere' is not HOST:PORT"),
        (["--against", "127.0.0.1:1"], 3, "no broker answers at 127.0.0.1:1: Connection refused"),
        (["--against", "127.0.0.1:9092", "--seeds", "3"], 2, "cannot be used with --seeds"),
        (["--against", "127.0.0.1:9092", "--seed", "0", "--junit", "x"], 2, "cannot be used with --seed, --junit"),
        (["--against", "127.0.0.1:9092", "--longest-pass", "soon"], 2, "'soon' is not a duration"),
        (["--longest-pass", "1s"], 2, "--longest-pass needs --against HOST:PORT"),
    ],
)
def test_what_the_command_cannot_make_sense_of_is_said(
    folder: Path, options: list[str], status: int, said: str
) -> None:
    """Nothing is played."""
    result = command(folder, *options)

    assert (result.exit_code, said in result.output) == (status, True), result.output
