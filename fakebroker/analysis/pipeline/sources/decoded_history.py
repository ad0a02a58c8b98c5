"""A history of files, or of a running Kafka, as rows of the table `decoded`, for either engine."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fakebroker.analysis.history.reading import SOURCE, HistoryError, has_scheme
from fakebroker.analysis.pipeline.distinct_records import DecodedOptions
from fakebroker.analysis.pipeline.sources.inputs import Files, Live
from fakebroker.analysis.pipeline.sources.parts import all_parts
from fakebroker.analysis.pipeline.sources.repeats import known_of_paths
from fakebroker.analysis.pipeline.sources.stored_history import Folders, store_history
from fakebroker.client.security import ClientConfig, Security

if TYPE_CHECKING:
    from fakebroker.analysis.pipeline.engines import Frame
    from fakebroker.analysis.pipeline.publish import Staging


def decoded_history(
    stage: "Staging", paths: Sequence[str], kafka: ClientConfig | None, source: str | None, *, may_repeat: bool
) -> "tuple[Frame, int, DecodedOptions]":
    """The rows of `decoded` that are left to the engine, how many rows there are at all, and what is known of them.

    Where no record can stand twice, commits outside of transactions are rows of `commits` already, and records of
    groups rows of `coordinator_records`, which `stage` adds when it stores these tables. With `may_repeat` records are
    compared, whatever the names of files say.

    Raises FakebrokerError for what cannot be read.
    """
    options = DecodedOptions(may_repeat=False) if kafka else known_of_paths(paths)
    options = options._replace(may_repeat=options.may_repeat or may_repeat)
    if urls := [path for path in paths if has_scheme(path)]:
        if stage.engine.name == "embedded":
            raise HistoryError(f"{urls[0]}: files with a scheme are read by Spark: use --engine spark")
        from fakebroker.analysis.pipeline.sources.history import history_frame

        return *stage.keep("decoded", history_frame(stage.engine.session, paths=paths, source=source)), options
    absolute = [str(Path(path).absolute()) for path in paths]  # workers of a cluster are in other folders
    of, security = (Live(kafka), kafka.security) if kafka else (Files(absolute), Security())
    parts = all_parts(of, source or SOURCE, security, stage.engine.tasks_at_once)
    kept, rows_in = stage.write_ahead(
        "decoded",
        ("commits", "coordinator_records"),
        lambda *folders: store_history(stage.engine, parts, Folders(*folders), may_repeat=options.may_repeat),
    )
    return kept, rows_in, options
