"""Lines of saved journals in words, for `fakebroker journal show` and for differences."""

from collections.abc import Mapping
from typing import Any

from fakebroker.broker.core.groups.kinds import epoch_word
from fakebroker.broker.engine.printable import LINE_CHARACTERS, printable
from fakebroker.testing.journal.schema import COMMON, KINDS

_COMMON = {column.name for column in COMMON}
TIMELESS = {
    *("connected", "disconnected", "offset_committed", "records_appended"),
    *("broker_started", "coordinator_record", "group_stored", "offset_deleted"),
}


def row_text(row: Mapping[str, Any]) -> str:
    """What a line says, without its number and times."""
    if row["kind"] == "request":
        return printable(_request_text(row), LINE_CHARACTERS)
    names = [column.name for column in KINDS[row["kind"]].columns]
    if row["kind"] == "transition":
        group, group_type, before, after, generation, reason = (row[name] for name in names)
        epoch = f"{epoch_word(group_type)} {generation}"
        return printable(f"{group}: {before} -> {after}, {epoch} ({reason})", LINE_CHARACTERS)
    fields = ", ".join(f"{name} {row[name]}" for name in names if row[name] not in (None, ""))
    where = f" at node {row['node']}" if row["node"] is not None else ""
    return printable(f"{row['kind'].replace('_', ' ')}{where}: {fields}", LINE_CHARACTERS)


def outcome(row: Mapping[str, Any]) -> str:
    """What became of a request."""
    return ", ".join(row["errors"]) or ("ok" if row["is_answered"] else "not answered")


def _request_text(row: Mapping[str, Any]) -> str:
    groups = f" of group {', '.join(row['groups'])}" if row["groups"] else ""
    topics = f" {' '.join(row['topics'])}" if row["topics"] else ""
    return f"{row['api']} v{row['version']}{groups}{topics} -> {outcome(row)}"
