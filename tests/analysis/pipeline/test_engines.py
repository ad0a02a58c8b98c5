"""The embedded engine, and what both engines are asked in."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fakebroker.analysis.pipeline import duckdb_engine
from fakebroker.analysis.pipeline.dialects import for_spark
from fakebroker.analysis.pipeline.duckdb_engine import DuckEngine
from fakebroker.analysis.pipeline.engines import make
from fakebroker.analysis.pipeline.recipe import Recipe
from fakebroker.analysis.pipeline.rows import Rows, write_rows
from fakebroker.analysis.pipeline.spark_engine import Embedded, SparkEngine
from fakebroker.analysis.pipeline.tables import NAMES, recipe, table
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.scenarios.running import side_by_side
from tests.analysis.pipeline.silver_inputs import SEEDS, log_rows
from tests.support.histories import make_history
from tests.support.whatif_histories import tables_of_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXPIRY = {
    "source": "run", "seq": 1, "part": 0, "group_id": "g", "topic": "t", "partition": 0, "committed_offset": 5,
    "committed_at": -1, "due_at": 1_000, "expired_at": 2_000, "rule": "EX-3",
}  # fmt: skip


def expiries(rows: Rows, folder: Path) -> Path:
    """Rows as a stored table."""
    write_rows(table("expiries"), rows, folder)
    return folder


def test_times_are_numbers_of_milliseconds_in_queries(tmp_path: Path) -> None:
    """Also before 1970."""
    folder = expiries([EXPIRY], tmp_path / "expiries")
    query = "SELECT committed_at, due_at + 1 AS later FROM expiries"

    assert DuckEngine().asked(query, {"expiries": [folder]}) == [{"committed_at": -1, "later": 1_001}]


def test_a_table_is_stored_in_the_order_of_its_key(tmp_path: Path) -> None:
    """So the same rows give the same file, whichever thread made them."""
    engine, contract = DuckEngine(), table("expiries")
    rows = [EXPIRY | {"seq": seq} for seq in range(50)]
    for name in ("a", "b"):
        engine.store(contract, engine.frame(contract, rows[::-1]), tmp_path / name)
    one, other = (next((tmp_path / name).glob("*.parquet")).read_bytes() for name in ("a", "b"))

    assert engine.rows(engine.load(contract, tmp_path / "a")) == rows
    assert one == other


def test_names_of_folders_are_no_patterns(tmp_path: Path) -> None:
    """A folder may have a name that is a pattern to DuckDB, or a quotation mark."""
    expiries([EXPIRY], tmp_path / "a")
    folder = expiries([EXPIRY | {"seq": 2}], tmp_path / "it's [a]*?")
    engine = DuckEngine()

    assert [row["seq"] for row in engine.rows(engine.load(table("expiries"), folder))] == [2]


def test_any_text_is_kept(tmp_path: Path) -> None:
    """A client may send NUL in a name, quotation marks, and what is a pattern in SQL."""
    names = ["a\0b", "it's", '"', "%_", "\\", "\U0001f600", ""]
    engine, contract = DuckEngine(), table("expiries")
    rows = [EXPIRY | {"seq": seq, "group_id": name} for seq, name in enumerate(names)]
    engine.store(contract, engine.frame(contract, rows), tmp_path / "expiries")

    assert [row["group_id"] for row in engine.rows(engine.load(contract, tmp_path / "expiries"))] == names


def test_a_column_that_only_some_files_have_is_null_in_the_others(tmp_path: Path) -> None:
    """Whichever file comes first: an earlier version may have written some of them."""
    contract = table("expiries")
    older = contract._replace(columns=contract.columns[:-1])
    for name, versions in (("a", (older, contract)), ("b", (contract, older))):
        for seq, version in enumerate(versions):
            write_rows(version, [EXPIRY | {"seq": seq}], tmp_path / name)
        found = DuckEngine().rows(DuckEngine().load(contract, tmp_path / name))
        assert {row["seq"]: row["rule"] for row in found} == {
            seq: "EX-3" if versions[seq] is contract else None for seq in (0, 1)
        }


def test_a_damaged_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    """Whether its end is missing or something in it."""
    folder = expiries([EXPIRY | {"seq": seq} for seq in range(500)], tmp_path / "expiries")
    file = next(folder.glob("*.parquet"))
    data = file.read_bytes()
    engine = DuckEngine()
    for damaged in (data[:-20], data[:40] + b"\xff" * 400 + data[440:]):
        file.write_bytes(damaged)
        with pytest.raises(FakebrokerError, match="cannot be read"):
            engine.rows(engine.load(table("expiries"), folder))


def test_a_query_that_is_wrong_is_an_error_of_ours() -> None:
    """It is not taken for a file that cannot be read."""
    import duckdb

    with pytest.raises(duckdb.ParserException):
        DuckEngine().asked("SELEC", {})


def test_every_query_can_be_translated() -> None:
    """No text of a query has a quotation mark or a backslash in it, which the engines read differently."""
    queries = [check.query for name in NAMES for check in table(name).all_checks]
    for name in set(NAMES) - {"campaign_runs"}:
        made = recipe(name)
        queries += [made.query, *(step.query for step in made.steps)]
    for query in queries:
        texts = query.split("'")[1::2]
        assert not [text for text in texts if '"' in text or "\\" in text]
        assert '"' not in for_spark(query)


@pytest.mark.parametrize("name", ["group_states", "members", "retention_losses"])
def test_steps_over_many_rows_in_several_processes(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """They give what one process gives: rows of a group are one call's, in their order."""
    tables: dict[str, Rows] = {"coordinator_records": [], "commits": [], "group_states": []}
    for seed in list(SEEDS)[:4]:
        of_log = tables_of_log(make_history(seed, steps=60, transactions=True))
        tables["commits"] += of_log.commits
        tables["group_states"] += of_log.group_states
        tables["coordinator_records"] += log_rows(seed)
    here = made(name, tables)
    monkeypatch.setattr(duckdb_engine, "ROWS_FOR_ONE", 0)
    monkeypatch.setattr(duckdb_engine, "processors", lambda: range(2))
    monkeypatch.setattr(side_by_side, "SPAWNED_S", 0.0)

    assert here
    assert made(name, tables) == here


def made(name: str, tables: Mapping[str, Rows]) -> Rows:
    engine = DuckEngine()
    frames = {each: engine.frame(table(each), rows) for each, rows in tables.items()}
    return sorted(engine.rows(make(engine, name, frames)), key=repr)


@pytest.mark.spark
def test_spark_leaves_to_duckdb_what_that_makes_sooner(spark: "SparkSession", tmp_path: Path) -> None:
    """Stored tables of as many rows as a recipe says; not of more, and not if DuckDB is to make nothing."""
    contract, folder = table("expiries"), expiries([EXPIRY, EXPIRY | {"seq": 2}], tmp_path / "expiries")

    for rows, alone, is_embedded in ((2, False, True), (1, False, False), (2, True, False)):
        engine = SparkEngine(spark, alone=alone)
        of_all = Recipe("SELECT * FROM expiries", embedded_rows=rows)
        made = engine.made(of_all, contract, {"expiries": engine.load(contract, folder)})
        assert isinstance(made, Embedded) == is_embedded
        assert sorted(row["seq"] for row in engine.rows(made)) == [1, 2]
