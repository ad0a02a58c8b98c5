"""What a session shows of the cluster as it was before the first client came: one pass over the file.

`state` lines say it outright. What they do not say follows from the first answers: a partition's end is where the first
produced record went, or the first high watermark that anybody saw; what was read before it was there before.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fakebroker.broker.core.logs.produce_validation import is_transactional
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.batch import split_batches, with_base_offset
from fakebroker.protocol.records.record_content import bytes_of
from fakebroker.scenarios.recording.outages import Outages
from fakebroker.testing.exchanges.messages import Line, message_in
from fakebroker.testing.exchanges.reading import naming_line, read_session
from fakebroker.testing.recorded_cluster.state import LogBefore, TopicBefore, TopicPartition
from fakebroker.testing.releases import nearest_release

Json = Any

_EARLIEST, _LATEST = -2, -1
_TOPIC_CONFIG_SOURCE = 1
_TOPIC_RESOURCE = 2
_BROKER_RESOURCE = 4
# Settings that say where a broker runs, not how it behaves.
_ABOUT_THE_MACHINE = re.compile(
    r"(listeners|advertised|listener\.|inter\.broker|log\.dir|node\.id|broker\.|process\.roles|controller|zookeeper|ssl|"
    r"sasl|security|num\..*threads|metadata\.log|early\.start)"
)
_PROMPT_MS = 250
_USUAL_DELAY_MS = 3_000
_STARTING = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)
_NOT_THERE_YET = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE)


@dataclass(frozen=True)
class CommitBefore:
    """A committed offset."""

    offset: int
    leader_epoch: int
    metadata: str | None


@dataclass
class _Asked:
    """A request that waits for its answer."""

    line: int
    at_ms: float
    message: Json


class Survey:
    """What a session begins with, and what of it a replay has to know in advance."""

    def __init__(self) -> None:
        self.started_wall_ms = 0
        self.upstream = ""
        self.nodes: dict[int, str | None] = {}  # id -> rack
        self.topics: dict[str, TopicBefore] = {}
        self.logs: dict[TopicPartition, LogBefore] = {}
        self.placements: dict[str, dict[int, tuple[int, list[int]]]] = {}  # topic -> partition -> leader, replicas
        self.coordinators: dict[str, int] = {}  # group -> node
        self.commits: dict[tuple[str, str, int], CommitBefore] = {}
        self.settings: dict[str, str] = {}
        self.release: str | None = None
        self.member_ids: dict[int, str] = {}  # line of a JoinGroup -> the member id that its answer gave
        self.first_generations: dict[str, int] = {}  # group -> the first generation that was answered
        self.starting: dict[int, None] = {}  # lines of requests that came while a coordinator was starting
        self.groups_before: dict[str, None] = {}  # groups that were there before the first client came
        self.outages = Outages()
        self.transactional: dict[TopicPartition, None] = {}  # partitions with records of transactions
        self.lacks_transactions = False  # requests of transactions are there without what they said
        self.bases: dict[int, dict[TopicPartition, int]] = {}  # line of a Produce -> where its records went
        self._answered = 0  # the line of the request whose answer is taken in
        self.lines = 0
        self.requests = 0
        self.cut: str | None = None
        self.has_end = False
        self.created_later: dict[str, int] = {}  # topics that were created by asking for them -> partitions
        self._knows_all_topics = False
        self._knows_settings = False
        self._at_ms = 0.0
        self._serving: dict[tuple[bool, str], None] = {}  # groups whose coordinator is there; (asked for it, group)
        # batches with acks 0, and the Produce that had them
        self._without_answer: dict[tuple[TopicPartition, bytes], int] = {}  # checksum -> line
        self._names: dict[str, str] = {}  # topic id -> name
        self._settled: dict[str, None] = {}  # topics of which it is known whether they were there
        self.made: dict[str, None] = {}  # topics that CreateTopics made
        self._committed: dict[tuple[str, str, int], None] = {}
        self._asked: dict[tuple[int, int | None], _Asked] = {}
        self._takes: dict[str, Callable[[Json, Json, float], None]] = {
            "ApiVersions": self._take_api_versions,
            "Metadata": self._take_metadata,
            "CreateTopics": self._take_create_topics,
            "FindCoordinator": self._take_find_coordinator,
            "ListOffsets": self._take_list_offsets,
            "Fetch": self._take_fetch,
            "Produce": self._take_produce,
            "OffsetFetch": self._take_offset_fetch,
            "OffsetCommit": self._take_offset_commit,
            "JoinGroup": self._take_join_group,
            "DescribeConfigs": self._take_describe_configs,
        }

    @property
    def node_ids(self) -> list[int]:
        """The brokers, in order; node 1 if the session names none."""
        return sorted(self.nodes) or [1]

    def topic_name(self, entry: Mapping[str, Json]) -> str | None:
        """The name of the topic that a struct speaks of, by name or id; None for an id never seen with a name."""
        for name in ("Name", "Topic", "TopicName"):
            if entry.get(name):
                return str(entry[name])
        return self._names.get(entry.get("TopicId", ""))

    def take(self, number: int, line: Line) -> None:
        """Take in a line, the `number`th of the file."""
        self.lines = number
        match line["kind"]:
            case "session":
                self.started_wall_ms = line["started_wall_ms"]
                self.upstream = line["upstream"]
            case "state":
                self._take_state(line)
            case "connect":
                self.outages.connected(number, line)
                if line["node"] is not None:
                    self.nodes.setdefault(_node_id(line["node"]), None)
            case "request":
                self.requests += 1
                asked = _Asked(number, line["at_ms"], message_in(line))
                self._asked[line["connection"], line["correlation_id"]] = asked
                if line["api"] == "Produce" and asked.message is not None:
                    self._take_produced(asked)
                self.lacks_transactions |= line["api"] == "AddPartitionsToTxn" and asked.message is None
            case "answer":
                self.outages.answered(line)
                self._take_answer(line)
            case "close":
                self.outages.closed(number, line)
                if line["by"] == "upstream":  # which may have gone, and will start again
                    self._serving = {}
                for key in [key for key in self._asked if key[0] == line["connection"]]:
                    del self._asked[key]
            case "end":
                self.has_end = True

    def _take_answer(self, line: Line) -> None:
        asked = self._asked.pop((line["connection"], line["correlation_id"]), None)
        message = message_in(line)
        take = self._takes.get(line["api"] or "")
        if asked is None or asked.message is None or message is None:
            return
        self._note_starting(line["api"] or "", asked, message)
        self._answered, self._at_ms = asked.line, line["at_ms"]
        if take is None:
            return
        if line["api"] == "JoinGroup" and message.get("MemberId"):
            self.member_ids[asked.line] = message["MemberId"]
        take(asked.message, message, line["at_ms"] - asked.at_ms)

    def _note_starting(self, api: str, asked: _Asked, answer: Json) -> None:
        """A coordinator is starting until it has served somebody; afterwards such an error is one."""
        about = [(api == "FindCoordinator", subject) for subject in _subjects(api, asked.message)]
        if not is_starting(answer):
            self._serving |= dict.fromkeys(about)
        elif not any(each in self._serving for each in about):
            self.starting[asked.line] = None

    def _take_state(self, line: Line) -> None:
        """What the recorder asked before the first client came."""
        message = line.get("message", {})
        match line["about"]:
            case "api_versions":
                self.release = line.get("release")
            case "metadata" if message:
                self._take_metadata({}, message, 0)
                self._knows_all_topics = True
            case "configs" if message:
                self._take_describe_configs({}, message, 0)
                self._take_broker_settings(message)
            case "groups" if message:
                self.groups_before |= dict.fromkeys(each["GroupId"] for each in message["Groups"])
            case "offsets":
                for row in line.get("offsets", ()):
                    log = self._log((row["topic"], row["partition"]))
                    log.saw_start(row["log_start_offset"])
                    log.saw_end(row["log_end_offset"])
            case "committed_offsets" if message:
                self._take_offset_fetch({"GroupId": line["group"]}, message, 0)

    def _take_broker_settings(self, answer: Json) -> None:
        for result in answer["Results"]:
            if result["ResourceType"] == _BROKER_RESOURCE and result["ErrorCode"] == 0:
                self._knows_settings = True
                for each in result["Configs"]:
                    if each["Value"] is not None and not _ABOUT_THE_MACHINE.match(each["Name"]):
                        self.settings[each["Name"]] = each["Value"]

    def _take_api_versions(self, _request: Json, answer: Json, _waited_ms: float) -> None:
        if self.release is None and answer.get("ErrorCode") == 0:
            listed = {each["ApiKey"]: (each["MinVersion"], each["MaxVersion"]) for each in answer["ApiKeys"]}
            self.release = nearest_release(listed)

    def _take_metadata(self, request: Json, answer: Json, _waited_ms: float) -> None:
        for broker in answer.get("Brokers", ()):
            self.nodes[broker["NodeId"]] = broker.get("Rack")
        for topic in answer["Topics"]:
            name = topic.get("Name")
            if not name:
                continue
            if topic["ErrorCode"] in _NOT_THERE_YET:
                self._settled.setdefault(name)
            elif topic["ErrorCode"] == ErrorCode.NONE:
                self._saw_topic(name, topic, _creates(request))

    def _saw_topic(self, name: str, topic: Json, may_create: bool) -> None:
        self._names.setdefault(topic.get("TopicId", ""), name)
        partitions = topic["Partitions"]
        placed = {each["PartitionIndex"]: (each["LeaderId"], each["ReplicaNodes"]) for each in partitions}
        self.placements.setdefault(name, placed)
        if name in self._settled or self._knows_all_topics:
            if name not in self.topics and name not in self.made and may_create and not topic.get("IsInternal"):
                self.created_later.setdefault(name, len(partitions))
            return
        self._settled[name] = None
        if topic.get("IsInternal"):
            return
        replicas = {each["PartitionIndex"]: each["ReplicaNodes"] for each in partitions}
        self.topics[name] = TopicBefore(len(partitions), replicas, topic_id=topic.get("TopicId"))

    def _take_create_topics(self, _request: Json, answer: Json, _waited_ms: float) -> None:
        for topic in answer["Topics"]:
            if topic["ErrorCode"] == ErrorCode.NONE:
                self._names.setdefault(topic.get("TopicId", ""), topic["Name"])
                self._settled.setdefault(topic["Name"])
                self.made.setdefault(topic["Name"])

    def _take_find_coordinator(self, request: Json, answer: Json, _waited_ms: float) -> None:
        if request.get("KeyType", 0) == 0:
            for each in answer.get("Coordinators", [{**answer, "Key": request.get("Key")}]):
                if each["NodeId"] >= 0:
                    self.coordinators.setdefault(each["Key"], each["NodeId"])

    def _take_list_offsets(self, request: Json, answer: Json, _waited_ms: float) -> None:
        asked = {
            (topic["Name"], each["PartitionIndex"]): each["Timestamp"]
            for topic in request.get("Topics", ())
            for each in topic["Partitions"]
        }
        for name, each in self._partitions(answer["Topics"], "Partitions"):
            place = (name, each["PartitionIndex"])
            if each["ErrorCode"] == ErrorCode.NONE and "Offset" in each:
                if asked.get(place) == _LATEST:
                    self._log(place).saw_end(each["Offset"])
                elif asked.get(place) == _EARLIEST:
                    self._log(place).saw_start(each["Offset"])

    def _take_fetch(self, _request: Json, answer: Json, _waited_ms: float) -> None:
        for name, each in self._partitions(answer["Responses"], "Partitions"):
            if each["ErrorCode"] == ErrorCode.NONE:
                log = self._log((name, each["PartitionIndex"]))
                log.saw_end(each["HighWatermark"])
                log.saw_start(each.get("LogStartOffset", -1))
                data = bytes_of(each.get("Records")) or b""
                self._find_without_answer((name, each["PartitionIndex"]), data)
                log.saw_records(data)

    def _take_produced(self, asked: _Asked) -> None:
        """What a Produce request has beside what its answer tells: batches without one, and of transactions."""
        for name, each in self._partitions(asked.message["TopicData"], "PartitionData"):
            place = (name, each["Index"])
            data = bytes_of(each["Records"]) or b""
            if is_transactional(data):
                self.transactional[place] = None
            if asked.message["Acks"] == 0:
                for batch in split_batches(data):
                    self._without_answer[place, _checksum(batch)] = asked.line

    def _find_without_answer(self, place: TopicPartition, data: bytes) -> None:
        """No answer tells where a batch with acks 0 went, but somebody may read it later."""
        for batch in split_batches(data) if self._without_answer else ():
            line = self._without_answer.pop((place, _checksum(batch)), None)
            if line is not None:
                base_offset = int.from_bytes(batch[:8], "big")
                self.bases.setdefault(line, {}).setdefault(place, base_offset)
                self._log(place).saw_append(base_offset)

    def _take_produce(self, request: Json, answer: Json, _waited_ms: float) -> None:
        sent = {
            (name, each["Index"]): bytes_of(each["Records"]) or b""
            for name, each in self._partitions(request["TopicData"], "PartitionData")
        }
        transactional = {place: data for place, data in sent.items() if is_transactional(data)}
        self.bases[self._answered] = {
            (name, each["Index"]): each["BaseOffset"]
            for name, each in self._partitions(answer["Responses"], "PartitionResponses")
        }
        for name, each in self._partitions(answer["Responses"], "PartitionResponses"):
            if each["ErrorCode"] == ErrorCode.NONE:
                place = (name, each["Index"])
                log = self._log(place)
                data = transactional.get(place)
                log.saw_append(each["BaseOffset"])
                if data is not None and each["BaseOffset"] >= 0:  # not sent in a replay, but there for those who read
                    del log.appended[each["BaseOffset"]]
                    log.batches[each["BaseOffset"]] = with_base_offset(data, each["BaseOffset"], 0)
                log.saw_start(each.get("LogStartOffset", -1))

    def _take_offset_fetch(self, request: Json, answer: Json, _waited_ms: float) -> None:
        groups = answer.get("Groups") or [{**answer, "GroupId": request.get("GroupId")}]
        for group in groups:
            for name, each in self._partitions(group.get("Topics", ()), "Partitions"):
                key = (group["GroupId"], name, each["PartitionIndex"])
                if key not in self._committed and each["CommittedOffset"] >= 0:
                    epoch = each.get("CommittedLeaderEpoch", -1)
                    self.commits[key] = CommitBefore(each["CommittedOffset"], epoch, each.get("Metadata"))
                self._committed[key] = None

    def _take_offset_commit(self, request: Json, _answer: Json, _waited_ms: float) -> None:
        for name, each in self._partitions(request["Topics"], "Partitions"):
            self._committed[request["GroupId"], name, each["PartitionIndex"]] = None

    def _take_join_group(self, request: Json, answer: Json, waited_ms: float) -> None:
        if answer["ErrorCode"] != ErrorCode.NONE or request["GroupId"] in self.first_generations:
            return
        self.first_generations[request["GroupId"]] = answer["GenerationId"]
        if not self._knows_settings:
            delay_ms = self._initial_delay_ms(request["GroupId"], waited_ms)
            self.settings.setdefault("group.initial.rebalance.delay.ms", str(delay_ms))

    def _initial_delay_ms(self, group_id: str, waited_ms: float) -> int:
        """The delay that ends now: it begins again as often as somebody joined while it lasted (JG-32)."""
        waiting = [
            self._at_ms - each.at_ms
            for each in self._asked.values()
            if each.message is not None and "Protocols" in each.message and each.message["GroupId"] == group_id
        ]
        longest_ms, *others = sorted([waited_ms, *waiting], reverse=True)
        if longest_ms < _PROMPT_MS:
            return 0
        joined_ms = [longest_ms - each for each in others]  # since the first
        possible = []
        for times in range(1, len(joined_ms) + 2):
            delay_ms = longest_ms / times
            starts = [number * delay_ms for number in range(times)]
            is_extended = all(any(start <= each < start + delay_ms for each in joined_ms) for start in starts[:-1])
            if is_extended and not any(starts[-1] < each for each in joined_ms):
                possible.append(round(delay_ms / 100) * 100)
        return _USUAL_DELAY_MS if _USUAL_DELAY_MS in possible else next(iter(possible), round(longest_ms / 100) * 100)

    def _take_describe_configs(self, _request: Json, answer: Json, _waited_ms: float) -> None:
        for result in answer["Results"]:
            topic = self.topics.get(result["ResourceName"])
            if result["ResourceType"] == _TOPIC_RESOURCE and topic is not None and result["ErrorCode"] == 0:
                for each in result["Configs"]:
                    if each.get("ConfigSource") == _TOPIC_CONFIG_SOURCE and each["Value"] is not None:
                        topic.config.setdefault(each["Name"], each["Value"])

    def _partitions(self, topics: Json, key: str) -> Iterator[tuple[str, Json]]:
        """(topic, struct) for each partition of a list of topics."""
        for topic in topics or ():
            name = self.topic_name(topic)
            if name is not None:
                yield from ((name, each) for each in topic[key])

    def _log(self, place: TopicPartition) -> LogBefore:
        return self.logs.setdefault(place, LogBefore())


def survey(path: str | os.PathLike[str]) -> Survey:
    """Read a session once. Raises UnreadableFile for a file that is none."""
    found = Survey()

    def note(sentence: str) -> None:
        found.cut = sentence

    for number, line in read_session(path, note):
        with naming_line(path, number):
            found.take(number, line)
    return found


def _node_id(value: Json) -> int:
    """The id of a node. Raises TypeError for anything but a whole number."""
    if type(value) is not int:
        raise TypeError(f"a node is a whole number, not {value!r:.60}")
    return value


def _subjects(api: str, request: Json) -> list[str]:
    """The groups that a request is about; the API itself for one about none, such as InitProducerId."""
    listed = request.get("Groups") or request.get("GroupsNames") or request.get("CoordinatorKeys") or ()
    names = [each["GroupId"] if isinstance(each, dict) else each for each in listed]
    return [*names, *(request[key] for key in ("GroupId", "Key") if request.get(key))] or [api]


def is_starting(answer: Json) -> bool:
    """Whether an answer says that a coordinator was not there yet: the client asks again."""
    if isinstance(answer, dict):
        return answer.get("ErrorCode") in _STARTING or any(is_starting(each) for each in answer.values())
    return isinstance(answer, list) and any(is_starting(each) for each in answer)


def _checksum(batch: bytes) -> bytes:
    """The checksum that a batch, or a message of formats 0 and 1, has in it: what it is recognized by."""
    return bytes(batch[17:21] if batch[16] >= 2 else batch[12:16])


def _creates(request: Json) -> bool:
    return bool(request.get("AllowAutoTopicCreation", True))
