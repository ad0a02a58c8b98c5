"""The rules of docs/rules in words: the sentence of a rule, and the rules that speak of an error of an API.

The sentences are read from a file beside this one when one is asked for first; `make docs` writes it from the pages.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

MAX_RULES = 8  # of one error

# The chapters that say how an API is answered. What is true of any API comes after these.
CHAPTERS: Mapping[str, tuple[str, ...]] = {
    "Produce": ("PD", "RB", "RC", "ID", "TX", "MS", "CLU"),
    "Fetch": ("FT", "FS", "CLU"),
    "ListOffsets": ("LO", "CLU"),
    "Metadata": ("MD",),
    "OffsetCommit": ("OC", "CGO", "STO", "SGL"),
    "OffsetFetch": ("OF", "CGO", "STO", "SGL"),
    "FindCoordinator": ("FC",),
    "JoinGroup": ("JG", "CGM", "CGS", "SGL", "STL"),
    "Heartbeat": ("HB", "CGM", "STL"),
    "LeaveGroup": ("LG", "CGM", "CGS", "STL"),
    "SyncGroup": ("SG", "CGM", "STL"),
    "DescribeGroups": ("DS", "CGL", "STL"),
    "ListGroups": ("LS", "CGL"),
    "SaslHandshake": ("SA",),
    "ApiVersions": ("AV",),
    "CreateTopics": ("NT",),
    "DeleteTopics": ("XT",),
    "DeleteRecords": ("DL",),
    "InitProducerId": ("PI", "TX"),
    "OffsetForLeaderEpoch": ("OE", "CLU"),
    "AddPartitionsToTxn": ("TX",),
    "AddOffsetsToTxn": ("TX", "TO"),
    "EndTxn": ("TX",),
    "WriteTxnMarkers": ("WM",),
    "TxnOffsetCommit": ("TO", "OC", "CGO"),
    "DescribeAcls": ("AU",),
    "CreateAcls": ("AU",),
    "DeleteAcls": ("AU",),
    "DescribeConfigs": ("DC",),
    "AlterConfigs": ("AC", "IA"),
    "AlterReplicaLogDirs": ("LR",),
    "DescribeLogDirs": ("LR",),
    "SaslAuthenticate": ("SA", "SC"),
    "CreatePartitions": ("NP",),
    "CreateDelegationToken": ("TK",),
    "RenewDelegationToken": ("TK",),
    "ExpireDelegationToken": ("TK",),
    "DescribeDelegationToken": ("TK",),
    "DeleteGroups": ("DG", "SGL", "STL"),
    "ElectLeaders": ("EL",),
    "IncrementalAlterConfigs": ("IA", "CGC", "SGC", "STC"),
    "AlterPartitionReassignments": ("RA",),
    "ListPartitionReassignments": ("RA",),
    "OffsetDelete": ("OD", "CGO", "STO"),
    "DescribeClientQuotas": ("QU",),
    "AlterClientQuotas": ("QU",),
    "DescribeUserScramCredentials": ("SC",),
    "AlterUserScramCredentials": ("SC",),
    "DescribeQuorum": ("DQ",),
    "UpdateFeatures": ("UF",),
    "DescribeCluster": ("DK",),
    "DescribeProducers": ("DP",),
    "UnregisterBroker": ("DK",),
    "DescribeTransactions": ("DX",),
    "ListTransactions": ("DX",),
    "ConsumerGroupHeartbeat": ("CGH", "CGS", "CGM", "CGX"),
    "ConsumerGroupDescribe": ("CGD",),
    "GetTelemetrySubscriptions": ("TE",),
    "PushTelemetry": ("TE",),
    "ListConfigResources": ("LC",),
    "DescribeTopicPartitions": ("TP",),
    "ShareGroupHeartbeat": ("SGH",),
    "ShareGroupDescribe": ("SGL",),
    "ShareFetch": ("SGF", "SGP"),
    "ShareAcknowledge": ("SGK", "SGF"),
    "AddRaftVoter": ("RV",),
    "RemoveRaftVoter": ("RV",),
    "InitializeShareGroupState": ("SGP",),
    "ReadShareGroupState": ("SGP",),
    "WriteShareGroupState": ("SGP",),
    "DeleteShareGroupState": ("SGP",),
    "ReadShareGroupStateSummary": ("SGP",),
    "StreamsGroupHeartbeat": ("STH", "STT", "STP"),
    "StreamsGroupDescribe": ("STD",),
    "DescribeShareGroupOffsets": ("SGO",),
    "AlterShareGroupOffsets": ("SGO",),
    "DeleteShareGroupOffsets": ("SGO",),
}
_OF_ANY_API = ("AU", "LD", "FC", "CLU", "AD", "AV", "GEN")


class RuleText(NamedTuple):
    """A rule by its id, and what it says."""

    id: str
    text: str


def rule_text(rule_id: str) -> str:
    """What a rule says, "" for one that does not exist."""
    return _texts().get(rule_id, "")


def rules_of_error(api: str, error: str) -> list[RuleText]:
    """The rules that name an error among those of an API, at most MAX_RULES; none of its own: those of any API."""
    return list(_rules_of_error(api, error))


@cache
def _rules_of_error(api: str, error: str) -> tuple[RuleText, ...]:
    named = re.compile(rf"\b{re.escape(error)}\b")
    for chapters in (CHAPTERS.get(api, ()), _OF_ANY_API):
        found = [
            RuleText(rule_id, text)
            for chapter in chapters
            for rule_id, text in _by_chapter().get(chapter, ())
            if named.search(text)
        ]
        if found:
            return tuple(found[:MAX_RULES])
    return ()


@cache
def _texts() -> dict[str, str]:
    found: dict[str, str] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    return found


@cache
def _by_chapter() -> dict[str, list[tuple[str, str]]]:
    chapters: dict[str, list[tuple[str, str]]] = {}
    for rule_id, text in _texts().items():
        chapters.setdefault(rule_id.partition("-")[0], []).append((rule_id, text))
    return chapters
