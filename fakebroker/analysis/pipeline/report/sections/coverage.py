"""Which APIs and versions clients used, and what was answered with an error."""

from collections import Counter, defaultdict
from typing import Final

from fakebroker.analysis.pipeline.contract import Row
from fakebroker.analysis.pipeline.report.blocks import Finding, Grid, Number, Plot, Section, Text
from fakebroker.analysis.pipeline.report.charts.heat_map import Cell, heat_map
from fakebroker.analysis.pipeline.report.tables import Tables
from fakebroker.analysis.pipeline.report.words import counted, left_out, percent, short
from fakebroker.testing.explanations.wording import STEPS

KEY: Final = "protocol_coverage"
MAX_ERRORS: Final = 25
MANY_ERRORS: Final = 0.05  # of all requests
_NONE: Final = "NONE"


def section(tables: Tables) -> Section:
    """The section."""
    rows = tables.rows("SELECT * FROM protocol_coverage ORDER BY api, version, error")  # some hundred
    total = sum(row["requests"] for row in rows)
    if not total:
        return Section(KEY, "Protocol coverage", [Text("No client sent a request.")])
    errors = sorted(
        (row for row in rows if row["error"] != _NONE and row["requests"]),
        key=lambda row: (-row["requests"], row["api"], row["version"], row["error"]),
    )
    real = [row for row in errors if not _step(row)]
    bad = sum(row["requests"] for row in real)
    findings = []
    if bad / total > MANY_ERRORS:
        first = real[0]
        most = f"{first['error']} to {first['api']}"
        text = f"{percent(bad, total)} of all requests were answered with an error, most often {most}"
        findings.append(Finding("look", text, KEY))
    numbers = [
        Number("requests", short(total), "" if total < 1000 else f"{total:,}"),
        Number("answered with an error", percent(bad, total), counted(bad, "request")),
    ]
    return Section(KEY, "Protocol coverage", [_plot(rows), _errors(errors, total)], numbers, findings)


def _step(row: Row) -> str:
    """What an error tells clients that all of them meet when all is well; "" for one that is worth a look."""
    return STEPS.get((row["api"], row["error"])) or STEPS.get(("", row["error"])) or ""


def _plot(rows: list[Row]) -> Plot:
    requests: dict[str, Counter[int]] = defaultdict(Counter)
    errors: dict[tuple[str, int], list[str]] = defaultdict(list)
    for row in rows:
        requests[row["api"]][row["version"]] += row["requests"]
        if row["error"] != _NONE and row["requests"]:
            errors[row["api"], row["version"]].append(f"{row['error']} {row['requests']:,}")
    apis = sorted(requests, key=lambda api: (not requests[api].total(), -requests[api].total(), api))
    versions = list(range(max(max(each) for each in requests.values()) + 1))
    values = [[requests[api].get(each) for each in versions] for api in apis]
    cells = [
        [_cell(api, each, requests[api].get(each), errors.get((api, each), [])) for each in versions] for api in apis
    ]
    chart = heat_map(apis, cells, [(each + 0.5, (str(each),)) for each in versions])
    unseen = sum(value == 0 for row in values for value in row if value is not None)
    supported = sum(value is not None for row in values for value in row)
    about = (
        "Requests by API and version. A triangle: some were answered with an error. A dot: the broker "
        f"supports the version, but no client used it ({unseen:,} of {supported:,})"
    )
    used: list[tuple[str, str, int]] = [
        (api, ", ".join(str(v) for v in versions if requests[api].get(v)), requests[api].total()) for api in apis
    ]
    grid = Grid(about, ["API", "versions used", "requests"], [row for row in used if row[2]])
    return Plot(about, chart, grid)


def _cell(api: str, version: int, requests: int | None, errors: list[str]) -> Cell | None:
    if requests is None:
        return None
    title = ", ".join([f"{api} v{version}", f"{requests:,} requests" if requests else "not used", *errors])
    return Cell(requests, title, short(requests) if requests else "·", bool(errors))


def _errors(errors: list[Row], total: int) -> Text | Grid:
    if not errors:
        return Text("No request was answered with an error.")
    rows = [
        [
            row["error"],
            row["api"],
            row["version"],
            row["requests"],
            percent(row["requests"], total),
            ", ".join(row["clients"][:5]) + (", ..." if len(row["clients"]) > 5 else ""),
            _step(row) and f"usual: told {_step(row)}",
        ]
        for row in errors[:MAX_ERRORS]
    ]
    more = len(errors) - MAX_ERRORS
    about = f"Errors that clients got{', the most frequent' if more > 0 else ''}{left_out(more, 'other kind')}"
    return Grid(about, ["error", "API", "version", "requests", "of all requests", "clients", ""], rows)
