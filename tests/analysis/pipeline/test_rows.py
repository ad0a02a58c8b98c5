"""Rows as Parquet files and back."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.analysis.pipeline import rows as rows_module
from fakebroker.analysis.pipeline.contract import Column, Table
from fakebroker.analysis.pipeline.rows import count_rows, from_arrow, read_rows, to_arrow, write_rows

TABLE = Table(
    name="things",
    layer="gold",
    about="things",
    columns=(
        Column("name", "string", "a name"),
        Column("number", "int", "a number", True),
        Column("size", "long", "a size", True),
        Column("share", "double", "a share", True),
        Column("is_good", "boolean", "whether", True),
        Column("at", "timestamp", "when", True),
        Column("words", "strings", "words", True),
    ),
    key=("name",),
)
YEAR_1_MS, YEAR_9999_MS = -62_135_596_800_000, 253_402_300_799_999
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.text(st.characters(exclude_categories=["Cs"])),
            "number": st.none() | st.integers(-(2**31), 2**31 - 1),
            "size": st.none() | st.integers(-(2**63), 2**63 - 1),
            "share": st.none() | st.floats(allow_nan=False),
            "is_good": st.none() | st.booleans(),
            "at": st.none() | st.integers(YEAR_1_MS, YEAR_9999_MS),
            "words": st.none() | st.lists(st.text("abc")),
        }
    )
)


@given(ROWS)
def test_rows_survive_arrow(rows: list[dict[str, object]]) -> None:
    """What goes into Arrow comes out of it: every type, nulls, times before 1970 to the millisecond."""
    assert from_arrow(to_arrow(TABLE, rows)) == rows


def test_rows_survive_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of several files are read in their order."""
    monkeypatch.setattr(rows_module, "ROWS_A_FILE", 2)
    rows = [{**dict.fromkeys(TABLE.column_names), "name": str(n), "at": n} for n in range(5)]

    assert write_rows(TABLE, iter(rows), tmp_path / "things") == 5
    assert len(list((tmp_path / "things").iterdir())) == 3
    assert read_rows(TABLE, tmp_path / "things") == rows


def test_a_table_without_rows_is_a_file_with_its_columns(tmp_path: Path) -> None:
    """No rows are a file, too, and a folder that is not there has no rows."""
    assert write_rows(TABLE, [], tmp_path / "things") == 0
    assert (count_rows(tmp_path / "things"), len(list((tmp_path / "things").iterdir()))) == (0, 1)
    assert read_rows(TABLE, tmp_path / "things") == []
    assert read_rows(TABLE, tmp_path / "nothing") == []
