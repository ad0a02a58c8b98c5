"""`fakebroker history decode` on Spark, where it does other than the embedded engine to the same end."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from fakebroker.analysis.pipeline.publish import Published
from fakebroker.cli.main import main
from tests.analysis.history.samples import batch, segment
from tests.support.published import differences

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]


def test_a_record_that_stands_twice_in_a_segment(spark: "SparkSession", tmp_path: Path) -> None:
    """No broker writes that, damage makes it. What was not compared at first is compared then: here they disagree."""
    assert spark
    segment(tmp_path / "data", batch(0, 3) + batch(1, 1))

    for engine in ("spark", "embedded"):
        arguments = ["history", "decode", tmp_path / "data", "--tables", tmp_path / engine, "--engine", engine]
        result = CliRunner().invoke(main, list(map(str, arguments)))
        assert result.exit_code == 0, result.output
        assert "the segments of a folder repeat a record" in result.output
    assert Published(tmp_path / "spark").tables["commits"]["rows"] == 2
    assert differences(Published(tmp_path / "spark"), Published(tmp_path / "embedded")) == []
