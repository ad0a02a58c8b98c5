"""What `fakebroker history decode` reads, on Spark: rows of `decoded`, of which the published tables are made."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fakebroker.analysis.pipeline.distinct_records import DecodedOptions
from fakebroker.analysis.pipeline.sources.history import history_frame, history_parts
from fakebroker.analysis.pipeline.sources.repeats import known_of_paths
from fakebroker.analysis.pipeline.sources.stored_history import Folders, store_history

if TYPE_CHECKING:
    from fakebroker.analysis.pipeline.publish import Staging
    from fakebroker.client.security import ClientConfig


def decoded_on_spark(
    stage: "Staging", paths: Sequence[str], kafka: "ClientConfig | None", source: str | None, *, may_repeat: bool
) -> tuple[Any, int, DecodedOptions]:
    """The rows of `decoded` that are left to Spark, how many rows there are at all, and what is known of them.

    Where no record can stand twice, commits outside of transactions are rows of `commits` already, and records of
    groups rows of `coordinator_records`, which `stage` adds when it stores these tables. With `may_repeat` records are
    compared, whatever the names of files say.

    Raises FakebrokerError for what cannot be read.
    """
    assert stage.engine.name == "spark"
    session: Any = stage.engine.session
    options = DecodedOptions(may_repeat=False) if kafka else known_of_paths(paths)
    options = options._replace(may_repeat=options.may_repeat or may_repeat)
    if options.may_repeat:
        frame = history_frame(session, paths=paths, kafka=kafka, source=source)
        kept, rows_in = stage.keep("decoded", frame)
    else:
        parts = history_parts(session, paths, kafka, source)
        kept, rows_in = stage.write_ahead(
            "decoded",
            ("commits", "coordinator_records"),
            lambda *folders: store_history(session, parts, Folders(*folders)),
        )
    return kept, rows_in, options
