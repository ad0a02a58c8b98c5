"""What a Spark session is started with."""

import pytest

from fakebroker.analysis.pipeline.session import _java_options


@pytest.mark.parametrize(
    ("asked", "collectors"),
    [
        ("", ["-XX:+UseParallelGC"]),
        ("-Xss4m -XX:+UseG1GC", ["-XX:+UseG1GC"]),
        ("-XX:-UseParallelGC -XX:+UseZGC -Dx=y", ["-XX:+UseZGC"]),
    ],
)
def test_java_gets_one_garbage_collector(asked: str, collectors: list[str]) -> None:
    """With two it does not start: ours gives way to one that was asked for."""
    options = _java_options(asked).split()

    assert [each for each in options if each.startswith("-XX:+Use")] == collectors
    assert options[len(options) - len(asked.split()) :] == asked.split()
