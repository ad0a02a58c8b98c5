"""The page of benchmarks: a part about the broker and a part about the data pipeline, each written by its own run."""

from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "benchmarks.md"
_PIPELINE = "# The data pipeline on Spark\n"


def write_broker_part(text: str, page: Path = PAGE) -> None:
    """Replace what stands before the pipeline's part."""
    page.write_text(f"{text.rstrip()}\n{_pipeline_part(page)}")


def write_pipeline_part(text: str, page: Path = PAGE) -> None:
    """Replace the pipeline's part."""
    before = page.read_text().partition(_PIPELINE)[0].rstrip() if page.exists() else "# Benchmarks"
    page.write_text(f"{before}\n\n{_PIPELINE}\n{text.rstrip()}\n")


def _pipeline_part(page: Path) -> str:
    if not page.exists():
        return ""
    _, heading, part = page.read_text().partition(_PIPELINE)
    return f"\n{heading}{part}" if heading else ""
