"""What the tools for features, the metadata quorum, API versions and ACLs are asked of an unsecured broker, in order.

python -m tests.clients.cluster_tools HOST:PORT > tests/data/console/cluster.txt     (of a fresh Kafka, to record it)
"""

import re
import sys
import tempfile
from pathlib import Path

from tests.clients.tool_box import ToolBox

FEATURES = "org.apache.kafka.tools.FeatureCommand"
QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
API_VERSIONS = "org.apache.kafka.tools.BrokerApiVersionsCommand"
ACLS = "org.apache.kafka.tools.AclCommand"

READ = "--allow-principal User:alice --operation Read --topic t"
STEPS = [
    (API_VERSIONS, ""),
    (FEATURES, "describe"),
    (FEATURES, "upgrade --feature share.version=1 --dry-run"),
    (FEATURES, "upgrade --feature share.version=2"),
    (FEATURES, "upgrade --feature share.version=0"),
    (FEATURES, "upgrade --feature nothing=1"),
    (FEATURES, "downgrade --feature share.version=0 --dry-run"),
    (FEATURES, "downgrade --feature share.version=0"),
    (FEATURES, "downgrade --feature share.version=1"),
    (FEATURES, "downgrade --feature transaction.version=1 --feature group.version=5"),
    (FEATURES, "downgrade --feature transaction.version=1 --unsafe"),
    (FEATURES, "downgrade --metadata 4.0-IV0"),
    (FEATURES, "disable --feature streams.version"),
    (FEATURES, "describe"),
    (QUORUM, "describe --status"),
    (QUORUM, "describe --replication"),
    (QUORUM, "describe --replication --human-readable"),
    (FEATURES, "upgrade --release-version 4.3"),
    (FEATURES, "describe"),
    (FEATURES, "downgrade --feature kraft.version=0"),
    (FEATURES, "version-mapping"),
    (FEATURES, "feature-dependencies --feature transaction.version=2"),
    (QUORUM, "describe --status"),
    (QUORUM, "describe --replication"),
    (ACLS, "--list"),
    (ACLS, "--list --topic t --resource-pattern-type match"),
    (ACLS, f"--add {READ}"),
    (ACLS, f"--remove --force {READ}"),
]


def masked(text: str) -> str:
    """Without offsets of the metadata log, ages, and the broker's own words about a refused change."""
    text = re.sub(r"\b(Epoch:|HighWatermark:) \d+", r"\1 N", text)
    text = re.sub(r"^(Could not \w+ \S+ to \S+\.) .*", r"\1 ...", text, flags=re.M)
    text = re.sub(r"\b\d+ ms ago\b", "AGE", text)
    return re.sub(r"^(\d+ \S+) \d+ (\d+ .*)$", r"\1 N \2", text, flags=re.M)


def transcript(bootstrap: str, folder: Path) -> str:
    """What the tools print; `folder` is for files of their process."""
    tools = ToolBox(bootstrap, folder / "tools.log")
    try:
        for tool, arguments in STEPS:
            tools.run(tool, arguments)
    finally:
        tools.close()
    return "\n".join(map(masked, tools.printed))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        print(transcript(sys.argv[1], Path(scratch)), end="")
