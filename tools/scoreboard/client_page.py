"""The page docs/reference/clients.md, from results/clients.json, which `make client-table` writes.

python -m tools.scoreboard.client_page
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "clients.md"
RESULTS = Path(__file__).with_name("results") / "clients.json"
CLIENTS = {
    "confluent-kafka": "confluent-kafka",
    "java": "Java",
    "java-2.8": "Java",
    "aiokafka": "aiokafka",
    "kafka-python": "kafka-python",
    "franz-go": "franz-go",
    "sarama": "sarama",
    "kafkajs": "kafkajs",
    "rdkafka": "rdkafka (Rust)",
}
# Each row with what the body of its tests needs of a broker and a Kafka does not have.
ROWS = {
    "Round trip, none": "",
    "Round trip, gzip": "",
    "Round trip, snappy": "",
    "Round trip, lz4": "",
    "Round trip, zstd": "",
    "Three members, one leaves": "",
    "Resume at committed offsets": "",
    "Eager assignors": "",
    "Cooperative assignor": "",
    "A static member restarts": "",
    "KIP-848 group": "",
    "Share group": "",
    "Transactions": "",
    "Offsets by time": "",
    "Offset reset": "",
    "Eight days pass while a member is connected": "a clock",
    "Offsets expire after eight days without members": "a clock",
    "SASL PLAIN": "",
    "SASL SCRAM-SHA-256": "",
    "SASL SCRAM-SHA-512": "",
    "SASL OAUTHBEARER": "",
    "SASL session ends, the client logs in again": "",
    "SASL over TLS": "",
    "TLS: the client checks the broker": "",
    "TLS: the broker checks the client": "",
    "ACLs": "",
}
_KIP_848, _SHARE, _COOPERATIVE = "KIP-848 group", "Share group", "Cooperative assignor"
# What a library does not have, in the version that is used; no test is missing there.
LACKS: dict[str, frozenset[str]] = {
    "java-2.8": frozenset({_KIP_848, _SHARE}),
    "aiokafka": frozenset({_KIP_848, _SHARE, _COOPERATIVE}),
    "kafka-python": frozenset({_KIP_848, _SHARE}),
    "sarama": frozenset({_KIP_848, _SHARE}),
    "kafkajs": frozenset(
        {_KIP_848, _SHARE, _COOPERATIVE, "A static member restarts"}
        | {f"Round trip, {codec}" for codec in ("snappy", "lz4", "zstd")}
    ),
    "rdkafka": frozenset({_SHARE}),
}
_HEAD = """# Client libraries
<!-- Written by `make client-table`. -->

What client libraries do with fakebroker, and with Kafka {kafka}. Each cell is the result of tests in `tests/clients` on
{date}.

| | |
|---|---|
| passed | all tests of the cell passed |
| failed | one of them failed; it is listed below |
| partly | those that were run passed; the others are listed below with the reason |
| not run | none was run |
| none | the library has no such thing |
| needs a clock | days pass in the test, which only a fakebroker lets happen |

`make client-table` runs them all, on a machine with Python, Java and Maven, Node.js, Go and Rust, and writes this page.
The programs in other languages are in `tests/clients/java`, `node`, `go` and `rust`.
"""


def page() -> str:
    """The text of the page."""
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    brokers = {
        "fakebroker": f"fakebroker {found['brokers']['fakebroker']}",
        "kafka": f"Kafka {found['brokers']['kafka']}",
    }
    parts = [_HEAD.format(kafka=found["brokers"]["kafka"], date=found["date"])]
    for broker, title in brokers.items():
        parts += [f"## On {title}\n", *_table(found, broker), ""]
    notes = list(_notes(found, brokers))
    parts += ["## What did not pass\n", *(notes or ["Every test that was run passed, and every test was run."])]
    return "\n".join(parts) + "\n"


def _table(found: dict[str, Any], broker: str) -> Iterator[str]:
    titles = [f"{title} {found['clients'][client]}" for client, title in CLIENTS.items()]
    yield "| | " + " | ".join(titles) + " |"
    yield "|---|" + "---|" * len(titles)
    for row in ROWS:
        yield f"| {row} | " + " | ".join(verdict(found, row, client, broker) for client in CLIENTS) + " |"


def verdict(found: dict[str, Any], row: str, client: str, broker: str) -> str:
    """What a cell says."""
    cell = _cell(found, row, client, broker)
    if cell is None:
        if row in LACKS.get(client, ()):
            return "none"
        return f"needs {ROWS[row]}" if broker == "kafka" and ROWS[row] else "not run"
    if "failed" in cell:
        return "failed"
    if "not run" in cell:
        return "partly" if cell.get("passed") else "not run"
    return "passed"


def _cell(found: dict[str, Any], row: str, client: str, broker: str) -> dict[str, Any] | None:
    cell: dict[str, Any] | None = found["behaviours"].get(row, {}).get(client, {}).get(broker)
    return cell


def _notes(found: dict[str, Any], brokers: dict[str, str]) -> Iterator[str]:
    """A line for each test that failed or was not run."""
    for broker, title in brokers.items():
        for row in ROWS:
            for client in CLIENTS:
                cell = _cell(found, row, client, broker) or {}
                for kind in ("failed", "not run"):
                    for test, reason in cell.get(kind, {}).items():
                        yield f"- {title}, {client}, {row}: {kind}: `{test}`: {_escaped(reason)}"


def _escaped(text: str) -> str:
    return text.replace("<", "\\<").replace("|", "\\|").replace("*", "\\*")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
