"""Kafka's console tools in a fixed order, and what they print; the same text is wanted from Kafka and from us.

python -m tests.clients.console HOST:PORT TOOLS > tests/data/console/TOOLS.txt     (against a fresh Kafka, to record it)
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from fakebroker.client.scripted.scripted_client import ScriptedClient, ScriptedClients
from fakebroker.client.scripted.tcp_driver import TcpDriver

ROOT = Path(__file__).resolve().parents[2]
JARS = ROOT / ".java" / "lib"

GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
DELETE_RECORDS = "org.apache.kafka.tools.DeleteRecordsCommand"
TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"


class Step(NamedTuple):
    """One call of a tool, and what it reads from its standard input."""

    tool: str
    arguments: str
    text: str = ""


KEYED = " --reader-property parse.key=true --reader-property key.separator=:"
LONGEST_TRANSACTION_MS = 900_000  # as long as the tools need
ONE_DELETED = '{"partitions":[{"topic":"t","partition":0,"offset":1}],"version":1}'


def keyed_records(count: int) -> str:
    return "".join(f"k{n}:v{n}\n" for n in range(count))


GROUP_STEPS = [
    Step(TOPICS, "--create --topic orders --partitions 2 --replication-factor 1"),
    Step(PRODUCER, "--topic orders" + KEYED, keyed_records(20)),
    Step(CONSUMER, "--topic orders --group billing --from-beginning --max-messages 20"),
    Step(GROUPS, "--list"),
    Step(GROUPS, "--list --state"),
    Step(GROUPS, "--describe --group billing"),
    Step(GROUPS, "--describe --group billing --state"),
    Step(GROUPS, "--describe --group billing --members"),
    Step(GROUPS, "--reset-offsets --group billing --topic orders:0 --to-earliest --dry-run"),
    Step(GROUPS, "--reset-offsets --group billing --topic orders --shift-by -2 --execute"),
    Step(GROUPS, "--reset-offsets --group billing --topic orders --to-datetime 2020-01-01T00:00:00.000 --execute"),
    Step(GROUPS, "--describe --group billing --offsets"),
    Step(GROUPS, "--delete-offsets --group billing --topic orders:1"),
    Step(GROUPS, "--describe --group billing"),
    Step(GROUPS, "--delete --group billing"),
    Step(GROUPS, "--describe --group billing"),
    Step(GROUPS, "--list"),
]

TOPIC_STEPS = [
    Step(TOPICS, "--create --topic t --partitions 2 --replication-factor 1 --config retention.ms=1234567"),
    Step(TOPICS, "--create --topic t --partitions 2 --replication-factor 1"),
    Step(TOPICS, "--list"),
    Step(TOPICS, "--describe --topic t"),
    Step(TOPICS, "--alter --topic t --partitions 3"),
    Step(TOPICS, "--alter --topic t --partitions 3"),
    Step(CONFIGS, "--alter --entity-type topics --entity-name t --add-config cleanup.policy=compact,segment.ms=60000"),
    Step(CONFIGS, "--describe --entity-type topics --entity-name t"),
    Step(CONFIGS, "--alter --entity-type topics --entity-name t --delete-config cleanup.policy"),
    Step(CONFIGS, "--alter --entity-type topics --entity-name t --add-config retention.ms=soon"),
    Step(CONFIGS, "--alter --entity-type brokers --entity-name 1 --add-config log.cleaner.threads=2"),
    Step(CONFIGS, "--describe --entity-type brokers --entity-name 1"),
    Step(TOPICS, "--describe --topic t"),
    Step(PRODUCER, "--topic t --sync" + KEYED, keyed_records(9)),
    Step(OFFSETS, "--topic t --time earliest"),
    Step(OFFSETS, "--topic t --time 0"),
    Step(DELETE_RECORDS, f"--offset-json-file {ONE_DELETED}"),
    Step(OFFSETS, "--topic t --time earliest"),
    Step(TOPICS, "--delete --topic t"),
    Step(TOPICS, "--delete --topic t"),
    Step(TOPICS, "--list --exclude-internal"),
]

TRANSACTION_STEPS = [
    Step(TRANSACTIONS, "list"),
    Step(TRANSACTIONS, "list --duration-filter 100000000"),
    Step(TRANSACTIONS, "list --transactional-id-pattern pay.*"),
    Step(TRANSACTIONS, "describe --transactional-id payments"),
    Step(TRANSACTIONS, "describe --transactional-id invoices"),
    Step(TRANSACTIONS, "describe --transactional-id idle"),
    Step(TRANSACTIONS, "describe --transactional-id nobody"),
    Step(TRANSACTIONS, "describe-producers --topic orders --partition 0"),
    Step(TRANSACTIONS, "describe-producers --topic orders --partition 1"),
    Step(TRANSACTIONS, "find-hanging --broker-id 1"),
    Step(OFFSETS, "--topic orders --time latest"),
    Step(TRANSACTIONS, "abort --topic orders --partition 1 --start-offset 0"),
    Step(TRANSACTIONS, "describe-producers --topic orders --partition 1"),
    Step(OFFSETS, "--topic orders --time latest"),
    Step(TRANSACTIONS, "abort --topic orders --partition 1 --start-offset 0"),
    Step(TRANSACTIONS, "forceTerminateTransaction --transactionalId refunds"),
    Step(TRANSACTIONS, "describe --transactional-id refunds"),
    Step(TRANSACTIONS, "forceTerminateTransaction --transactionalId nobody"),
]


def begin_transactions(bootstrap: str) -> None:
    """Transactions for the tools to see: two that are open, one that was committed, and an id that did nothing yet."""
    host, port = bootstrap.rsplit(":", 1)
    clients = ScriptedClients(TcpDriver(host, int(port)))
    admin = clients.client("admin")
    admin.create_topic("orders", 2)
    while admin.find_coordinator("payments", key_type="transaction").coordinators[0].error_code:
        clients.driver.pass_time(100)
    for name, partitions in {"payments": [0, 1], "invoices": [0], "refunds": [0], "idle": []}.items():
        client = clients.client(name)
        while client.init_producer_id(name, transaction_timeout_ms=LONGEST_TRANSACTION_MS).error_code:
            clients.driver.pass_time(100)
        for partition in partitions:
            client.produce("orders", partition, [f"of {name}"], transactional=True)
        if name == "invoices":
            client.commit_transaction()
            while "Complete" not in described_state(admin, name):  # the marker comes before the next one's records
                clients.driver.pass_time(20)
    clients.close()


def described_state(client: ScriptedClient, transactional_id: str) -> str:
    """The state that DescribeTransactions tells."""
    answer = client.request("DescribeTransactions", transactional_ids=[transactional_id])
    return str(answer.transaction_states[0].transaction_state)


def run(step: Step, bootstrap: str) -> str:
    """What one tool prints, both streams, made independent of the run."""
    java = ["java", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp", f"{JARS}/*"]
    arguments = step.arguments.split()
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        if "--offset-json-file" in arguments:
            file.write(arguments[-1])
            file.flush()
            arguments[-1] = file.name
        command = [*java, step.tool, "--bootstrap-server", bootstrap, *arguments]
        done = subprocess.run(command, input=step.text, capture_output=True, text=True, timeout=90, check=False)
    return steady(done.stdout + done.stderr, bootstrap).replace(file.name, "FILE")


def steady(text: str, bootstrap: str) -> str:
    """Without what differs from run to run.

    Ids, addresses, times, stack traces, the wording of errors, the order of printed records, column widths.
    """
    text = text.replace(bootstrap, "HOST:PORT")
    text = re.sub(r"TopicId: \S+", "TopicId: ID", text)
    text = re.sub(r"\[\d{4}-\d\d-\d\d [\d:,]+\]", "[TIME]", text)
    text = re.sub(r"127\.0\.0\.1:\d+|localhost:\d+", "HOST:PORT", text)
    text = re.sub(r"console-consumer-[\w-]+", "MEMBER", text)
    text = re.sub(r"(Exception:|command :) .*", r"\1 ...", text, flags=re.M)
    lines = [re.sub(r"[ \t]+", " ", line).strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith(("at ", "... ", "Caused by:"))]
    lines = [re.sub(r"\b1[0-9]{12} \d+\b", "TIME DURATION", line) for line in lines]
    lines = [re.sub(r"\b1[0-9]{12}\b", "TIME", line) for line in lines]
    if lines and lines[0].startswith("TransactionalId Coordinator"):
        lines[1:] = sorted(lines[1:])
    records = sorted(line for line in lines if re.fullmatch(r"v\d+", line))
    return "\n".join([*records, *(line for line in lines if line not in records)])


def transcript(steps: list[Step], bootstrap: str) -> Iterator[str]:
    for step in steps:
        yield f"$ {step.tool.rsplit('.', 1)[1]} {step.arguments}\n{run(step, bootstrap)}\n"


if __name__ == "__main__":
    if sys.argv[2] == "transactions":
        begin_transactions(sys.argv[1])
    steps = {"groups": GROUP_STEPS, "topics": TOPIC_STEPS, "transactions": TRANSACTION_STEPS}[sys.argv[2]]
    for part in transcript(steps, sys.argv[1]):
        print(part, flush=True)
