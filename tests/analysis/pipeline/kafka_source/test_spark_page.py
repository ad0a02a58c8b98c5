"""The examples in docs/how-to/spark.md and docs/how-to/follow.md run."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fakebroker import FakeBroker
from fakebroker.analysis.pipeline.kafka_source.options import READ_OPTIONS
from fakebroker.analysis.pipeline.kafka_source.sink import WRITE_OPTIONS

pytestmark = pytest.mark.spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOW_TO = Path(__file__).resolve().parents[4] / "docs" / "how-to"
PAGE = HOW_TO / "spark.md"
EXAMPLES = {
    name: source
    for page in (PAGE, HOW_TO / "follow.md")
    for source in re.findall(r"```python\n(.*?)```", page.read_text(), re.S)
    for name in re.findall(r"^def (test_\w+)\(spark, fakebroker", source, re.M)
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_the_page_run(name: str, spark: "SparkSession", fakebroker: FakeBroker, tmp_path: Path) -> None:
    """What the page shows does what it says."""
    namespace: dict[str, Any] = {}
    exec(compile(EXAMPLES[name], name, "exec"), namespace)
    example: Callable[..., None] = namespace[name]
    example(spark, fakebroker, *([tmp_path] if "tmp_path" in EXAMPLES[name] else []))


def test_the_page_names_every_option() -> None:
    """The tables of options have those that the source knows, and no others."""
    tables = PAGE.read_text().split("## Options of a read")[1].split("## What is different")[0]
    named = {name for row in re.findall(r"^\| (`.*?) \|", tables, re.M) for name in re.findall(r"`([\w.]+)`", row)}

    assert named == {*READ_OPTIONS, *WRITE_OPTIONS}
