"""What a command of the pipeline says at its end: rows in, out and rejected, and where they are."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any


def summary(folder: Path, manifest: Mapping[str, Any], made: Mapping[str, int]) -> str:
    """Some lines: what was read and rejected as far as the manifest tells, and the rows written to each table."""
    lines = []
    if "rows_in" in manifest:
        lines.append(f"rows in: {manifest['rows_in']:,}, rejected: {manifest['rejected']:,}")
        if manifest["rejected"]:
            lines.append(f"rejected rows, with reasons: {folder / 'rejects'}")
    out = ", ".join(f"{name} {rows:,}" for name, rows in made.items())
    lines.append(f"rows out: {out}")
    lines.append(f"published in {folder}, {manifest['checks']['run']} checks passed")
    return "\n".join(lines)
