"""The home of Spark from which Python workers start fast."""

import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fakebroker.analysis.pipeline.spark_home import make_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Something that looks like an installed pyspark."""
    folder = tmp_path / "pyspark"
    for name in ("bin", "jars", "python"):
        (folder / name).mkdir(parents=True)
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path))
    return folder


def test_the_home_has_all_but_the_copy_for_workers(package: Path) -> None:
    """Programs and jars are those of the package."""
    home = make_home({}, package)

    assert home is not None
    assert {each.name: each.resolve() for each in home.iterdir()} == {
        "bin": (package / "bin").resolve(),
        "jars": (package / "jars").resolve(),
    }


@pytest.mark.parametrize("environment", [{"SPARK_HOME": "/opt/spark"}, {"PYSPARK_PYTHON": "/another/python"}])
def test_what_the_user_has_chosen_stays(package: Path, environment: dict[str, str]) -> None:
    """A Spark of the user's own, and workers whose pyspark nobody knows, are left alone."""
    assert make_home(environment, package) is None


def test_a_pyspark_from_elsewhere_stays(package: Path, tmp_path: Path) -> None:
    """Workers may not find it by themselves."""
    (tmp_path / "lib").mkdir()

    assert make_home({}, package.rename(tmp_path / "lib" / "pyspark")) is None


@pytest.mark.spark
def test_workers_import_compiled_modules(spark: "SparkSession") -> None:
    """And not the zip, which has none."""

    def file_of_pyspark(_: object) -> str:
        import pyspark

        return str(pyspark.__file__)

    (file,) = spark.sparkContext.parallelize([0], 1).map(file_of_pyspark).collect()

    assert ".zip" not in file
