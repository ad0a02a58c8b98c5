"""Makes tests/data/history/kafka-4.3.1: segments of a real Kafka with every type of record, and what its tool says.

    python -m tools.offsets_segments       # needs the jars of `make setup-java`

It starts a Kafka, lets clients of all kinds work with it, copies the segments of `__consumer_offsets`, and writes what
`DumpLogSegments --offsets-decoder` says of them, a line of JSON for each record. Names and addresses in them are those
of the tests.
"""

import json
import shutil
from pathlib import Path

from fakebroker.analysis.history.reading import files_of
from tests.support.dump_log_segments import dump
from tests.support.offsets_traffic import SETTINGS, make_traffic
from tests.support.real_kafka import VERSION, running_kafka

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "data" / "history" / f"kafka-{VERSION}"


def main() -> None:
    """Make the folder anew."""
    with running_kafka(SETTINGS) as kafka:
        make_traffic(kafka)
        shutil.rmtree(FOLDER, ignore_errors=True)
        for file in files_of([kafka.folder / "data"]):
            kept = FOLDER / file.path.parent.name / file.path.name
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file.path, kept)
    lines = [json.dumps(dumped, ensure_ascii=False) for dumped in dump([file.path for file in files_of([FOLDER])])]
    (FOLDER / "dump.jsonl").write_text("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    main()
