"""A look over HTTP at topics that were never used makes no log of theirs, and shows them as empty."""

import json
import tracemalloc

import pytest

from fakebroker.cli.http.json_stream import texts_of
from tests.cli.http.test_longest_turn import CONFIG, LOOKS, fill, url_of
from tests.support.control import Client, with_control
from tests.support.work_counter import calls_of

WIDE = 2_000


def logs(control: Client) -> set[str]:
    """The partitions that have a log."""
    topics = control.broker._engine.cluster.topics
    return {f"{topic.name}-{each.index}" for topic in topics for each in topic.partitions if each.used_log is not None}


def test_no_look_makes_a_log() -> None:
    """Whatever is asked for with GET, and a wait for records: what has no log has none afterwards."""

    async def test(control: Client) -> None:
        fill(control, 5)
        await control.do("POST", "/snapshots")
        before = logs(control)
        makes = set()
        for path in sorted(LOOKS):
            url, query = url_of(path)
            await control.http.get(url.replace("/many", "/wide"), params=query)
            if logs(control) != before:
                makes.add(path)
                before = logs(control)
        await control.problem("POST", "/topics/wide/wait", {"records": 1, "timeout_s": 0.01})
        assert (makes, logs(control)) == (set(), before)

    with_control(test, config=CONFIG)


@pytest.mark.parametrize("path", ["/topics", "/topics/t0"])
def test_the_answer_says_that_nothing_is_there(path: str) -> None:
    """A topic of very many partitions is shown as one of few: with 0 as the end of each, and the leaders."""

    async def test(control: Client) -> None:
        control.broker.create_topic("t0", partitions=WIDE)
        control.broker.create_topic("t1", partitions=2)
        control.broker.topic("t1").produce("v", partition=1)
        found = await control.get(path)
        first, *rest = found if isinstance(found, list) else [found]
        numbers = [str(index) for index in range(WIDE)]
        assert first == {
            "name": "t0",
            "exists": True,
            "partitions": WIDE,
            "leaders": dict.fromkeys(numbers, 1),
            "end_offsets": dict.fromkeys(numbers, 0),
        }
        assert [each["end_offsets"] for each in rest] == ([{"0": 0, "1": 1}] if rest else [])

    with_control(test)


def test_a_few_topics_of_many_partitions_are_sent_in_pieces() -> None:
    """A short list of topics takes no more memory at a time than one of them."""

    async def test(control: Client) -> None:
        for index in range(5):
            control.broker.create_topic(f"t{index}", partitions=WIDE)
        await control.get("/topics/t0")
        tracemalloc.start()
        try:
            before_bytes, _ = tracemalloc.get_traced_memory()
            async with control.http.stream("GET", "/topics") as answer:
                assert "content-length" not in answer.headers
                size_bytes = len(await answer.aread())
            after_bytes, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert after_bytes - before_bytes < 3 * size_bytes

    with_control(test)


def test_a_few_topics_of_many_partitions_are_written_in_steps() -> None:
    """No step does more than one pass over the partitions of one topic."""

    async def test(control: Client) -> None:
        for index in range(5):
            control.broker.create_topic(f"t{index}", partitions=WIDE)
        texts = texts_of(control.broker.topics, frozenset())
        written: list[str] = []
        steps = [0]
        while not written or written[-1]:
            steps.append(calls_of(lambda: written.append(next(texts, ""))))
        assert sum(steps) > 10 * WIDE
        assert max(steps) < 8 * WIDE

    with_control(test)


def test_what_partitions_say_of_themselves_makes_no_log() -> None:
    """The properties of a topic and a partition are those of an empty log, in Python, too."""

    async def test(control: Client) -> None:
        control.broker.create_topic("t", partitions=2)
        topic = control.broker.topic("t")
        partition = topic.partition(1)
        seen = (topic.end_offsets, partition.high_watermark, partition.log_end_offset, topic.records())
        assert json.dumps(seen) == '[{"0": 0, "1": 0}, 0, 0, []]'
        assert logs(control) == set()

    with_control(test)
