"""The whole report: its sections, and what of them stands at the top."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from fakebroker.pipeline.report.blocks import Finding, Number, Section
from fakebroker.pipeline.report.sections import campaign, coverage, expiries, groups, lag, reading, rebalances, whatif
from fakebroker.pipeline.report.tables import Tables

_SECTIONS: Final[Sequence[Callable[[Tables], Section | None]]] = (
    rebalances.section,
    lag.section,
    expiries.section,
    whatif.section,
    coverage.section,
    groups.section,
    campaign.section,
    reading.section,
)
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


def make_report(tables: Tables) -> Report:
    """The report of these tables; those that are not there have no section."""
    made = [section(tables) for section in _SECTIONS]
    folders = ", ".join(str(each.folder) for each in tables.published)
    return Report("fakebroker pipeline report", f"Tables of {folders}", [each for each in made if each is not None])
