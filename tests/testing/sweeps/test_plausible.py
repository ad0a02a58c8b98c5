"""The table of what can plausibly go wrong."""

import re
from pathlib import Path

from fakebroker.protocol.wire.registry import APIS, api
from fakebroker.testing.sweeps import plausible


def test_the_table_is_about_what_is_served() -> None:
    """Every API of the table is served here, and every fault in it exists."""
    assert [name for name in plausible.PLAUSIBLE if api(name).key not in APIS] == []
    for names in plausible.PLAUSIBLE.values():
        assert [plausible.fault(name).name for name in names] == list(names)


def test_what_only_reads_is_swept_when_asked_for() -> None:
    """By default a sweep leaves out requests without consequences."""
    assert set(plausible.PLAUSIBLE) - set(plausible.DEFAULT_APIS.split("|")) == {
        "Heartbeat",
        "ListOffsets",
        "FindCoordinator",
    }


def test_faults_are_tried_where_they_are_plausible() -> None:
    """A Fetch has no coordinator; an error that no row has is tried wherever it is asked for."""
    assert plausible.plausible("Fetch", ("not-coordinator", "rebalance")) == ["rebalance"]
    assert plausible.plausible("Fetch", ("unknown-server-error",)) == ["unknown-server-error"]
    assert plausible.plausible("Fetch", ("drop-answer",)) == ["drop-answer"]
    assert plausible.plausible("Metadata", None) == ["disconnect"]


def test_the_page_has_the_table() -> None:
    """docs/how-to/sweep.md lists the same faults for the same APIs, and explains each that is no plain error."""
    page = (Path(__file__).resolve().parents[3] / "docs" / "how-to" / "sweep.md").read_text()
    rows = re.findall(r"^\| ([A-Z][A-Za-z, ]+) \| ([a-z, -]+) \|$", page, re.M)
    listed = {
        api: tuple(faults.split(", "))
        for apis, faults in rows
        for api in apis.removesuffix(", when asked for").split(", ")
    }

    assert listed == plausible.PLAUSIBLE
    assert [name for name in plausible.FAULTS if f"| `{name}`" not in page] == []
