"""The whole report: its sections, and what of them stands at the top."""

from collections.abc import Sequence
from contextlib import nullcontext
from importlib import import_module
from typing import Final, NamedTuple

from fakebroker.analysis.pipeline.progress import Progress, Stage
from fakebroker.analysis.pipeline.report import sections
from fakebroker.analysis.pipeline.report.blocks import Finding, Number, Section
from fakebroker.analysis.pipeline.report.tables import Tables

_SECTIONS: Final = (
    *("rebalances", "lag", "expiries", "whatif", "transactions", "coverage", "groups", "campaign", "reading"),
)
_OF_SEVERAL: Final = ("expiries", "reading")  # which have something to say without the table of their name
_ORDER: Final = ("problem", "look", "note")


class Report(NamedTuple):
    """A report; `about` says of which folders it is."""

    title: str
    about: str
    sections: Sequence[Section]

    @property
    def numbers(self) -> list[Number]:
        """The headline numbers of all sections."""
        return [number for section in self.sections for number in section.numbers]

    @property
    def findings(self) -> list[Finding]:
        """What to look at first: what is wrong before what is only worth a look."""
        found = [finding for section in self.sections for finding in section.findings]
        return sorted(found, key=lambda finding: _ORDER.index(finding.severity))


def make_report(tables: Tables, progress: Progress | None = None) -> Report:
    """The report of these tables; those that are not there have no section. `progress` is called for each."""
    made = []
    for name in _SECTIONS:
        part = import_module(f"{sections.__name__}.{name}")
        is_there = tables.has(part.KEY)
        if not is_there and name not in _OF_SEVERAL:
            continue
        is_shown = is_there or name == "reading"
        with progress.stage(part.KEY) if progress and is_shown else nullcontext(Stage(name)) as stage:
            made.append(part.section(tables))
            stage.rows = tables.rows_in(part.KEY) if is_there else None
    folders = ", ".join(each.place for each in tables.published)
    return Report("fakebroker pipeline report", f"Tables of {folders}", [each for each in made if each is not None])
