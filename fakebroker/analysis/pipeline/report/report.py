"""The whole report: its sections, and what of them stands at the top."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from fakebroker.analysis.pipeline.progress import Progress
from fakebroker.analysis.pipeline.report.blocks import Finding, Number, Section
from fakebroker.analysis.pipeline.report.sections import (
    campaign,
    coverage,
    expiries,
    groups,
    lag,
    reading,
    rebalances,
    transactions,
    whatif,
)
from fakebroker.analysis.pipeline.report.tables import Tables

_SECTIONS: Final[Mapping[str, Callable[[Tables], Section | None]]] = {
    rebalances.KEY: rebalances.section,
    lag.KEY: lag.section,
    expiries.KEY: expiries.section,
    whatif.KEY: whatif.section,
    transactions.KEY: transactions.section,
    coverage.KEY: coverage.section,
    groups.KEY: groups.section,
    campaign.KEY: campaign.section,
    reading.KEY: reading.section,
}
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
    for name, section in _SECTIONS.items():
        if progress is None or not (name == reading.KEY or tables.has(name)):
            made.append(section(tables))
            continue
        with progress.stage(name) as stage:
            made.append(section(tables))
            stage.rows = tables.rows_in(name) if tables.has(name) else None
    folders = ", ".join(each.place for each in tables.published)
    return Report("fakebroker pipeline report", f"Tables of {folders}", [each for each in made if each is not None])
