"""What a Spark session is started with."""

import pytest

from fakebroker.analysis.pipeline.session import DEFAULT_MASTER, _java_options, spark_session
from fakebroker.protocol.errors import InvalidArgument


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


@pytest.mark.parametrize("by_environment", [True, False])
def test_spark_connect_is_refused(monkeypatch: pytest.MonkeyPatch, by_environment: bool) -> None:
    """Before anything starts, in a line that says what would be right."""
    if by_environment:
        monkeypatch.setenv("SPARK_REMOTE", "sc://127.0.0.1:1")

    with pytest.raises(InvalidArgument, match="has no RDDs, accumulators and Java classes") as refused:
        spark_session(DEFAULT_MASTER if by_environment else "sc://127.0.0.1:1")
    assert refused.value.field == "master"
    assert "give a master such as spark://HOST:7077" in str(refused.value)
