"""Differences that are none by meaning, each with its reason; those of Fetch are in fetched.py."""

import re
from typing import Any

from fakebroker.scenarios.comparison.walk import Difference
from fakebroker.scenarios.recording.survey import Survey

Json = Any

OFFERED = "fakebroker lists the APIs, versions and features that it serves"
SETTINGS = "the session does not tell the settings of the recorded broker"
DISK = "sizes and places on disk"
COPIES = "the broker that was recorded has topics of its own"
EARLIER = "this group was there before the recording began"
SLOWER = "the recorded broker had more to do than a broker in memory"

# (API, pattern of the path, reason)
_RULES = (
    ("ApiVersions", r"\.(ApiKeys|SupportedFeatures|FinalizedFeatures\w*|ZkMigrationReady)\b.*", OFFERED),
    ("DescribeLogDirs", r".*\.(PartitionSize|TotalBytes|UsableBytes|LogDir|OffsetLag)\b.*", DISK),
    ("Metadata", r"\.Topics\[__\w+\].*", COPIES),
)  # fmt: skip
_WAITING = frozenset({"JoinGroup", "SyncGroup", "Fetch"})  # how long their answers take is in the protocol
_GROUP = re.compile(r"\.Groups\[(.*?)\](\..*)?")
_BROKER_SETTING = re.compile(r"\.Results\[(\d*)\]\.Configs\b.*")


def reason_for(api: str, difference: Difference, recorded: Json, survey: Survey) -> str | None:
    """Why a difference in an answer of `api` is none by meaning; None if nothing explains it."""
    for name, pattern, reason in _RULES:
        if api == name and re.fullmatch(pattern, difference.path):
            return reason
    if api == "DescribeConfigs" and _is_of_broker(difference, recorded):
        return SETTINGS
    return EARLIER if _is_of_earlier_group(api, difference, survey) else None


def _is_of_earlier_group(api: str, difference: Difference, survey: Survey) -> bool:
    """Whether a list of groups differs in one that was there before, and that nobody has joined since."""
    found = _GROUP.fullmatch(difference.path) if api == "ListGroups" else None
    return bool(found and found[1] in survey.groups_before and found[1] not in survey.first_generations)


def reason_for_wait(api: str, our_ms: float, recorded_ms: float) -> str | None:
    """Why an answer that came at another time is none the less the same; None if nothing explains it."""
    return SLOWER if api not in _WAITING and our_ms < recorded_ms else None


def _is_of_broker(difference: Difference, recorded: Json) -> bool:
    """Whether the difference is in the settings of a broker, or in a default that follows from them."""
    return ".Configs" in difference.path and (
        any(result["ResourceType"] == 4 for result in recorded["Results"])
        or bool(_BROKER_SETTING.fullmatch(difference.path))
    )
