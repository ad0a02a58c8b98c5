"""Differences that are none by meaning, each with its reason; those of Fetch are in fetched.py."""

import re
from typing import Any

from fakebroker.meaning.matching import Difference

Json = Any

OFFERED = "fakebroker lists the APIs, versions and features that it serves"
SETTINGS = "the session does not tell the settings of the recorded broker"
DISK = "sizes and places on disk"
COPIES = "the broker that was recorded has topics of its own"
EARLIER = "this member joined before the recording began"

# (API, pattern of the path, reason)
_RULES = (
    ("ApiVersions", r"\.(ApiKeys|SupportedFeatures|FinalizedFeatures\w*|ZkMigrationReady)\b.*", OFFERED),
    ("DescribeLogDirs", r".*\.(PartitionSize|TotalBytes|UsableBytes|LogDir|OffsetLag)\b.*", DISK),
    ("Metadata", r"\.Topics\[__\w+\].*", COPIES),
)  # fmt: skip
_BROKER_SETTING = re.compile(r"\.Results\[(\d*)\]\.Configs\b.*")


def reason_for(api: str, difference: Difference, recorded: Json) -> str | None:
    """Why a difference in an answer of `api` is none by meaning; None if nothing explains it."""
    for name, pattern, reason in _RULES:
        if api == name and re.fullmatch(pattern, difference.path):
            return reason
    if api == "DescribeConfigs" and _is_of_broker(difference, recorded):
        return SETTINGS
    return None


def _is_of_broker(difference: Difference, recorded: Json) -> bool:
    """Whether the difference is in the settings of a broker, or in a default that follows from them."""
    return ".Configs" in difference.path and (
        any(result["ResourceType"] == 4 for result in recorded["Results"])
        or bool(_BROKER_SETTING.fullmatch(difference.path))
    )
