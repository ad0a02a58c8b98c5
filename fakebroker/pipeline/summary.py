"""What a command of the pipeline says at its end: rows in, out and rejected, and where they are."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def summary(folder: Path, manifest: Mapping[str, Any], made: Sequence[str]) -> str:
    """Some lines: what was read and rejected as far as the manifest tells, and the rows of each table that was made."""
    lines = []
    if "rows_in" in manifest:
        lines.append(f"rows in: {manifest['rows_in']:,}, rejected: {manifest['rejected']:,}")
        if manifest["rejected"]:
            lines.append(f"what was rejected, and why: {folder / 'rejects'}")
    tables = manifest["tables"]
    out = ", ".join(f"{name} {tables[name]['rows']:,}" for name in made)
    lines.append(f"rows out: {out}")
    lines.append(f"published in {folder}, {manifest['checks']['run']} checks passed")
    return "\n".join(lines)
