"""Differences that are meant: each with the reason, as docs/explanation/fidelity.md explains it."""

import re
from typing import Final

AGREED: Final[dict[str, str]] = {
    r"^(Produce|TxnOffsetCommit) .*\n.*ErrorCode: subject (48|120), reference (48|120)": (
        "Kafka answers by the version of another producer's request that it verified with this one (found.md)"
    ),
    r"^AlterConfigs .*\n +the reference does not answer": "Kafka never answers a resource that comes twice (found.md)",
    r"^StreamsGroupHeartbeat .*\n(.*\n)*?.*subject missing, reference \{'StatusCode': 3,": (
        "Kafka makes internal topics a moment later"
    ),
    r"^IncrementalAlterConfigs .*'ResourceType': 32.*\n.*ErrorCode: subject (0|40), reference 42": (
        "Kafka 3.9 has configs of groups only with the new coordinator; here every release has them (CGC-2)"
    ),
    r"^Produce v[0-2] .*'batches': .*\n.*ErrorCode: subject 2, reference 0\n": (
        "Kafka 2.1 takes several batches of format 2 in versions that had none; no client sends them"
    ),
    r"^OffsetCommit v0 .*\n(.*\n)*?.*ErrorCode: subject 35, reference (0|12)(\n|$)": (
        "Kafka 2.1 keeps the offsets of v0 in ZooKeeper; here they are refused (not-implemented.md)"
    ),
    r"^OffsetFetch v0 .*\n(.*\n)*?.*ErrorCode: subject 35, reference (0|3)(\n|$)": (
        "Kafka 2.1 keeps the offsets of v0 in ZooKeeper; here they are refused (not-implemented.md)"
    ),
    r"^CreatePartitions .*'Name': '(|\.|\.\.)',.*\n(.*\n)*?.*ErrorCode: subject \d+, reference -1": (
        "Kafka 2.1 fails for the whole request when a name is no path of ZooKeeper"
    ),
}


def is_agreed(difference: str) -> bool:
    """Whether a difference is one of these."""
    return any(re.search(pattern, difference) for pattern in AGREED)
