"""What Kafka's tools for rights, users, quotas, delegation tokens and client metrics are asked, in order.

python -m tests.clients.security_tools acls > tests/data/console/acls.txt     (starts a Kafka, to record it)
"""

import re
import sys
import tempfile
from pathlib import Path

from tests.clients.secured import (
    AUTHORIZER,
    PASSWORDS,
    PLAINTEXT,
    SASL_PLAINTEXT,
    SETTINGS,
    SecuredServer,
    secured_kafka,
)
from tests.clients.tool_box import ToolBox

ACLS = "org.apache.kafka.tools.AclCommand"
CONFIGS = "kafka.admin.ConfigCommand"
TOKENS = "org.apache.kafka.tools.DelegationTokenCommand"
METRICS = "org.apache.kafka.tools.ClientMetricsCommand"
CHANGE_USER = "--alter --entity-type users --entity-name"
CHANGE_CLIENT = "--alter --entity-type clients --entity-name"
CLIENT_METRICS = "--entity-type client-metrics"

ACL_STEPS = [
    (ACLS, "--list"),
    (ACLS, "--add --allow-principal User:alice --operation Read --operation Describe --topic orders"),
    (ACLS, "--add --allow-principal User:alice --operation Read --topic orders"),
    (ACLS, "--add --allow-principal User:bob --producer --topic orders"),
    (ACLS, "--add --allow-principal User:bob --consumer --topic orders --group billing"),
    (ACLS, "--add --allow-principal User:bob --producer --idempotent --transactional-id pay --topic orders"),
    (ACLS, "--add --deny-principal User:mallory --deny-host 127.0.0.9 --operation All --topic *"),
    (ACLS, "--add --allow-principal User:* --operation Write --topic ord --resource-pattern-type prefixed"),
    (ACLS, "--add --allow-principal User:carol --allow-principal User:dave --operation Create --cluster"),
    (ACLS, "--add --allow-principal User:carol --operation CreateTokens --user-principal User:alice"),
    (ACLS, "--add --allow-principal User:carol --operation Describe --delegation-token t1"),
    (ACLS, "--list --topic orders"),
    (ACLS, "--list --topic orders --resource-pattern-type match"),
    (ACLS, "--list --topic orders --resource-pattern-type any"),
    (ACLS, "--list --principal User:bob"),
    (ACLS, "--list --principal User:carol --principal User:mallory"),
    (ACLS, "--list --cluster"),
    (ACLS, "--list --group billing --topic nothing"),
    (ACLS, "--list --user-principal User:alice"),
    (ACLS, "--remove --force --allow-principal User:alice --operation Read --topic orders"),
    (ACLS, "--remove --force --allow-principal User:nobody --operation Read --topic orders"),
    (ACLS, "--remove --force --allow-principal User:bob --producer --topic orders"),
    (ACLS, "--remove --force --topic ord --resource-pattern-type prefixed"),
    (ACLS, "--remove --force --topic orders --resource-pattern-type match"),
    (ACLS, "--list"),
]
USER_STEPS = [
    (CONFIGS, "--describe --entity-type users"),
    (CONFIGS, f"{CHANGE_USER} alice --add-config SCRAM-SHA-256=[password=pa]"),
    (CONFIGS, f"{CHANGE_USER} alice --add-config SCRAM-SHA-512=[iterations=8192,password=pa]"),
    (CONFIGS, f"{CHANGE_USER} bob --add-config SCRAM-SHA-256=[password=pb],SCRAM-SHA-512=[password=pb]"),
    (CONFIGS, "--describe --entity-type users"),
    (CONFIGS, "--describe --entity-type users --entity-name alice"),
    (CONFIGS, "--describe --entity-type users --entity-name nobody"),
    (CONFIGS, f"{CHANGE_USER} alice --add-config SCRAM-SHA-256=[iterations=100,password=pa]"),
    (CONFIGS, f"{CHANGE_USER} alice --add-config SCRAM-SHA-256=[iterations=100000,password=pa]"),
    (CONFIGS, f"{CHANGE_USER} alice --add-config SCRAM-SHA-1=[password=pa]"),
    (CONFIGS, f"{CHANGE_USER} alice --delete-config SCRAM-SHA-256"),
    (CONFIGS, f"{CHANGE_USER} alice --delete-config SCRAM-SHA-256"),
    (CONFIGS, f"{CHANGE_USER} nobody --delete-config SCRAM-SHA-256"),
    (CONFIGS, "--describe --entity-type users"),
    (CONFIGS, "--alter --entity-type users --entity-default --add-config SCRAM-SHA-256=[password=pa]"),
]
QUOTA_STEPS = [
    (CONFIGS, f"{CHANGE_USER} alice --add-config producer_byte_rate=1024,consumer_byte_rate=2048"),
    (CONFIGS, f"{CHANGE_USER} alice --entity-type clients --entity-name web --add-config request_percentage=12.5"),
    (CONFIGS, f"{CHANGE_USER} alice --entity-type clients --entity-default --add-config producer_byte_rate=10"),
    (CONFIGS, "--alter --entity-type users --entity-default --add-config controller_mutation_rate=0.5"),
    (CONFIGS, f"{CHANGE_CLIENT} web --add-config consumer_byte_rate=4096"),
    (CONFIGS, "--alter --entity-type clients --entity-default --add-config request_percentage=200"),
    (CONFIGS, "--alter --entity-type ips --entity-name 127.0.0.1 --add-config connection_creation_rate=100"),
    (CONFIGS, "--alter --entity-type ips --entity-default --add-config connection_creation_rate=50"),
    (CONFIGS, "--describe --entity-type users"),
    (CONFIGS, "--describe --entity-type users --entity-name alice"),
    (CONFIGS, "--describe --entity-type users --entity-default"),
    (CONFIGS, "--describe --entity-type users --entity-name alice --entity-type clients"),
    (CONFIGS, "--describe --entity-type users --entity-name alice --entity-type clients --entity-name web"),
    (CONFIGS, "--describe --entity-type users --entity-type clients"),
    (CONFIGS, "--describe --entity-type clients"),
    (CONFIGS, "--describe --entity-type clients --entity-name web"),
    (CONFIGS, "--describe --entity-type ips"),
    (CONFIGS, "--describe --entity-type ips --entity-name 127.0.0.1"),
    (CONFIGS, "--describe --user alice --client web"),
    (CONFIGS, f"{CHANGE_USER} alice --add-config producer_byte_rate=0"),
    (CONFIGS, f"{CHANGE_USER} alice --add-config producer_byte_rate=fast"),
    (CONFIGS, f"{CHANGE_USER} alice --add-config connection_creation_rate=5"),
    (CONFIGS, f"{CHANGE_USER} alice --add-config speed=5"),
    (CONFIGS, "--alter --entity-type ips --entity-name no.such.host.invalid --add-config connection_creation_rate=5"),
    (CONFIGS, f"{CHANGE_USER} alice --delete-config producer_byte_rate"),
    (CONFIGS, f"{CHANGE_USER} alice --delete-config request_percentage"),
    (CONFIGS, f"{CHANGE_CLIENT} web --delete-config consumer_byte_rate"),
    (CONFIGS, "--describe --entity-type users"),
    (CONFIGS, "--describe --entity-type clients"),
]
METRIC_STEPS = [
    (METRICS, "--list"),
    (METRICS, "--alter --name fast --metrics org.apache.kafka.producer.,org.apache.kafka.consumer. --interval 10000"),
    (METRICS, "--alter --name slow --metrics * --match client_id=.*,client_software_name=apache-kafka-java"),
    (METRICS, "--list"),
    (METRICS, "--describe"),
    (METRICS, "--describe --name fast"),
    (METRICS, "--describe --name nothing"),
    (METRICS, "--alter --name fast --interval 50"),
    (METRICS, "--alter --name fast --match nonsense"),
    (METRICS, "--alter --name fast --match client_id=["),
    (CONFIGS, f"--alter {CLIENT_METRICS} --entity-name fast --add-config interval.ms=20000"),
    (CONFIGS, f"--alter {CLIENT_METRICS} --entity-name fast --add-config speed=1"),
    (CONFIGS, f"--alter {CLIENT_METRICS} --entity-name fast --delete-config metrics"),
    (CONFIGS, f"--describe {CLIENT_METRICS} --entity-name fast"),
    (CONFIGS, f"--describe {CLIENT_METRICS}"),
    (METRICS, "--delete --name slow"),
    (METRICS, "--delete --name slow"),
    (METRICS, "--list"),
]
TOKEN_STEPS = [
    (TOKENS, "--describe"),
    (TOKENS, "--create --max-life-time-period -1"),
    (TOKENS, "--create --max-life-time-period 600000 --renewer-principal User:bob"),
    (TOKENS, "--create --max-life-time-period -1 --owner-principal User:bob"),
    (TOKENS, "--describe"),
    (TOKENS, "--describe --owner-principal User:alice"),
    (TOKENS, "--describe --owner-principal User:nobody"),
    (TOKENS, "--renew --renew-time-period -1 --hmac HMAC"),
    (TOKENS, "--renew --renew-time-period -1 --hmac bm90aGluZw=="),
    (TOKENS, "--expire --expiry-time-period -1 --hmac HMAC"),
    (TOKENS, "--expire --expiry-time-period -1 --hmac HMAC"),
    (TOKENS, "--describe"),
]
TRANSCRIPTS = {
    "acls": (ACL_STEPS, {**SETTINGS, **AUTHORIZER}),
    "users": (USER_STEPS, SETTINGS),
    "quotas": (QUOTA_STEPS, SETTINGS),
    "client-metrics": (METRIC_STEPS, SETTINGS),
    "delegation-tokens": (TOKEN_STEPS, SETTINGS),
}


def transcript(name: str, server: SecuredServer, folder: Path) -> str:
    """What the tools print; `folder` is for files of their process."""
    steps, _ = TRANSCRIPTS[name]
    config = ""
    if name == "delegation-tokens":  # those need a login
        config = f" --command-config {_client_properties(folder)}"
    tools = ToolBox(server.addresses[SASL_PLAINTEXT if config else PLAINTEXT], folder / "tools.log")
    hmac = ""
    try:
        for tool, arguments in steps:
            tools.run(tool, arguments.replace("HMAC", hmac) + config)
            if found := re.search(r"\b([\w+/]{86}==)", tools.printed[-1]):
                hmac = hmac or found[1]
    finally:
        tools.close()
    printed = [part.replace(config, "") if config else part for part in tools.printed]
    return "\n".join(map(_masked, printed))


def _client_properties(folder: Path) -> Path:
    """A file by which a tool logs in as alice."""
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    path = folder / "alice.properties"
    path.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\n"
        f'sasl.jaas.config={module} required username="alice" password="{PASSWORDS["alice"]}";\n'
    )
    return path


def _masked(text: str) -> str:
    """Without ids, times and the tool's usage; what has no order is sorted: ACLs, entities and their configs."""
    text = re.sub(r"[\w+/]{86}==", "HMAC", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d", "TIME", text)
    text = text.split("\nOption Description\n")[0]
    if "ResourcePattern" in text:
        text = _sorted_acls(text)
    called, *lines = text.splitlines()
    if "--describe" in called and "ConfigCommand" in called:
        lines = sorted(re.sub(r"(are ).*=.*", lambda m: m[1] + _sorted_list(m[0][len(m[1]) :]), each) for each in lines)
    return "\n".join([called, *lines, ""])


def _sorted_list(text: str) -> str:
    return ", ".join(sorted(text.split(", ")))


def _sorted_acls(text: str) -> str:
    """Each list of ACLs in order, and the lists of one call, too."""
    called, *lines = text.splitlines()
    blocks: list[list[str]] = [[]]
    for line in lines:
        if not line.startswith("(principal"):
            blocks.append([line])
        else:
            blocks[-1].append(line)
    for block in blocks:
        block[1:] = sorted(block[1:])
    return "\n".join([called, *(line for block in sorted(blocks[1:]) for line in block)])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch, secured_kafka(TRANSCRIPTS[sys.argv[1]][1]) as kafka:
        if sys.argv[1] == "delegation-tokens":
            kafka.set_password("alice", PASSWORDS["alice"])
        print(transcript(sys.argv[1], kafka, Path(scratch)), end="")
