"""Exchanges of a session as steps of a scenario: verbs where they say exactly the same, raw requests elsewhere."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.records.record_content import bytes_of, records_of
from fakebroker.protocol.wire.registry import api, newest_by_name
from fakebroker.scenarios.comparison import fields
from fakebroker.scenarios.recording.exchanges import Exchange
from fakebroker.scenarios.recording.membership import Members, join_arguments
from fakebroker.scenarios.recording.step_fields import assigned, error_in, fields_of, record_step, text_of
from fakebroker.scenarios.recording.survey import Survey

Json = Any
Step = dict[str, Json]

MAX_EXPECTED_RECORDS = 10
_POSITIONS = (-1, -2)  # of ListOffsets: the end and the beginning


class StepMaker:
    """Makes the steps of a session's exchanges, one exchange at a time."""

    def __init__(self, survey: Survey, members: Members) -> None:
        self._survey = survey
        self._members = members
        self._known_topics = dict.fromkeys(survey.topics)
        self._fetched: dict[tuple[str, str, int], int] = {}  # (actor, topic, partition) -> next offset
        self._joined: dict[str, None] = {}  # member ids that have joined
        self._producing: dict[str, None] = {}  # actors that have a producer id
        self._makers: Mapping[str, Callable[[Exchange], list[Step]]] = {
            "JoinGroup": self._join,
            "SyncGroup": self._sync,
            "Heartbeat": self._heartbeat,
            "LeaveGroup": self._leave,
            "OffsetCommit": self._commit,
            "Produce": self._produce,
            "Fetch": self._fetch,
            "InitProducerId": self._init_producer_id,
            "Metadata": self._metadata,
        }

    def steps_of(self, one: Exchange) -> list[Step]:
        """The steps of one exchange; none for what a scenario does better without."""
        return self._makers.get(one.api, self._raw)(one)

    def expected(self, one: Exchange) -> Step:
        """What the answer must be: errors, offsets, assignments."""
        expect: Step = {"error": error_in(one.answer)}
        inside = _INSIDE.get(one.api)
        if inside is not None and expect["error"] == "NONE":
            expect |= inside(self, one)
        return expect

    def saved(self, one: Exchange) -> dict[str, str]:
        """What later requests need of the answer."""
        member_id = (one.answer or {}).get("MemberId")
        if one.api != "JoinGroup" or not member_id or self._members.by_verbs[one.actor]:
            return {}
        return {f"{one.actor}_member": "member_id", f"{one.actor}_generation": "generation_id"}

    # -- verbs ---------------------------------------------------------------------------------------------------

    def _says(self, one: Exchange) -> bool:
        return self._members.by_verbs[one.actor]

    def _join(self, one: Exchange) -> list[Step]:
        if not self._says(one):
            return self._raw(one)
        if one.answer is not None and one.answer["ErrorCode"] == ErrorCode.MEMBER_ID_REQUIRED:
            return []  # `join` asks a second time by itself
        if self._is_rejoin(one):
            return [{one.actor: "rejoin"}]
        return [{one.actor: f"join {one.request['GroupId']}", **join_arguments(one.request)}]

    def _is_rejoin(self, one: Exchange) -> bool:
        """Whether this is not the member's first join: an actor's first asks without an id, or with one just given."""
        member_id = one.request["MemberId"]
        is_again = member_id in self._joined if member_id else False
        if one.answer is not None and one.answer["ErrorCode"] == ErrorCode.NONE:
            self._joined[one.answer["MemberId"]] = None
        return is_again

    def _sync(self, one: Exchange) -> list[Step]:
        if not self._says(one):
            return self._raw(one)
        assignments = {
            self._member_key(each["MemberId"]): assigned(bytes_of(each["Assignment"]) or b"")
            for each in one.request["Assignments"]
        }
        return [{one.actor: "sync", **({"assignments": assignments} if assignments else {})}]

    def _member_key(self, member_id: str) -> str:
        owner = self._members.owners.get(member_id)
        if owner is not None and self._members.by_verbs[owner]:
            return owner
        return self._members.member_id(member_id)

    def _heartbeat(self, one: Exchange) -> list[Step]:
        return [{one.actor: "heartbeat"}] if self._says(one) else self._raw(one)

    def _leave(self, one: Exchange) -> list[Step]:
        return [{one.actor: "leave"}] if self._says(one) else self._raw(one)

    def _commit(self, one: Exchange) -> list[Step]:
        request = one.request
        rows = [(self._survey.topic_name(topic), each) for topic in request["Topics"] for each in topic["Partitions"]]
        owner = self._members.owners.get(request.get("MemberId", ""))
        is_plain = not any(each.get("CommittedMetadata") for _, each in rows) and all(name for name, _ in rows)
        if not is_plain or owner not in (one.actor, None) or not self._says(one):
            return self._raw(one)
        offsets = {f"{name}-{each['PartitionIndex']}": each["CommittedOffset"] for name, each in rows}
        if owner == one.actor:
            return [{one.actor: "commit", "offsets": offsets}]
        if request.get("MemberId"):
            return self._raw(one)
        return [{one.actor: "commit", "offsets": offsets, "group_id": request["GroupId"]}]

    def _init_producer_id(self, one: Exchange) -> list[Step]:
        if one.request.get("TransactionalId") is not None:
            return self._raw(one)
        self._producing[one.actor] = None
        return [{one.actor: "init_producer_id"}]

    def _produce(self, one: Exchange) -> list[Step]:
        steps: list[Step] = []
        errors = {
            (self._survey.topic_name(topic), each["Index"]): error_in(each)
            for topic in (one.answer or {}).get("Responses", ())
            for each in topic["PartitionResponses"]
        }
        for topic in one.request["TopicData"]:
            name = self._survey.topic_name(topic)
            for each in topic["PartitionData"]:
                records = records_of(bytes_of(each["Records"]) or b"")
                if name is None or not records:
                    continue
                step: Step = {one.actor: f"produce {name}-{each['Index']}"}
                step["records"] = [record_step(record) for record in records]
                if records[0].producer_id >= 0 and one.actor in self._producing:
                    step["idempotent"] = True
                if one.request["Acks"] != -1:
                    step["acks"] = one.request["Acks"]
                if (name, each["Index"]) in errors:
                    step["expect"] = {"error": errors[name, each["Index"]]}
                steps.append(step)
        return steps

    def _fetch(self, one: Exchange) -> list[Step]:
        """A step for each partition that records came from; the session of incremental fetches is left out."""
        steps: list[Step] = []
        offsets = {
            (self._survey.topic_name(topic), each["Partition"]): each["FetchOffset"]
            for topic in one.request["Topics"]
            for each in topic["Partitions"]
        }
        for (name, index), offset in offsets.items():  # later requests of a fetch session may not name it again
            self._fetched[one.actor, name or "", index] = offset
        for topic in (one.answer or {}).get("Responses", ()):
            name = self._survey.topic_name(topic)
            for each in topic["Partitions"]:
                step = self._fetch_step(one, name, each, offsets.get((name, each["PartitionIndex"])))
                if step is not None:
                    steps.append(step)
        return steps

    def _fetch_step(self, one: Exchange, name: str | None, each: Json, offset: int | None) -> Step | None:
        records = records_of(bytes_of(each.get("Records")) or b"")
        key = (one.actor, name or "", each["PartitionIndex"])
        offset = self._fetched.get(key, 0) if offset is None else offset
        records = [record for record in records if record.offset >= offset and not record.is_control]
        if name is None or (not records and not each["ErrorCode"]):
            return None
        step: Step = {one.actor: f"fetch {name}-{each['PartitionIndex']}", "offset": offset}
        if not records:
            return {**step, "expect": {"error": error_in(each)}}
        self._fetched[key] = records[-1].offset + 1
        shown = [{"offset": record.offset, "value": text_of(record.value)} for record in records]
        is_whole = records[-1].offset + 1 == each["HighWatermark"] and len(records) <= MAX_EXPECTED_RECORDS
        step["expect"] = {"error": "NONE", "records": shown if is_whole else {"contains": shown[-1]}}
        return step

    def _metadata(self, one: Exchange) -> list[Step]:
        """Only where somebody asks for a topic that is not there: it may be created by that."""
        asked = [self._survey.topic_name(each) for each in one.request.get("Topics") or ()]
        new = [name for name in asked if name is not None and name not in self._known_topics]
        if not new:
            return []
        self._known_topics |= dict.fromkeys(new)
        return self._raw(one)

    # -- raw -----------------------------------------------------------------------------------------------------

    def _raw(self, one: Exchange) -> list[Step]:
        """The request as it was, with names in the place of ids, and the newest version that names topics."""
        if one.api == "CreateTopics":
            self._known_topics |= dict.fromkeys(topic["Name"] for topic in one.request["Topics"])
        declared = api(one.api)
        version = min(one.version, newest_by_name(declared.key))
        request = self._by_name(one.request)
        if one.api == "DeleteTopics" and "Topics" in request:
            names = [each.get("Name") for each in request["Topics"]]
            if None in names:  # an id that nobody has named
                version = one.version
            else:
                request["TopicNames"] = names
        values = fields_of(declared.request, version, request, self._replaced_for(request))
        return [{one.actor: f"request {one.api}", "version": version, **values}]

    def _by_name(self, value: Json) -> Json:
        """Topic ids replaced by the names of their topics."""
        if isinstance(value, list):
            return [self._by_name(each) for each in value]
        if not isinstance(value, dict):
            return value
        made = {key: self._by_name(each) for key, each in value.items()}
        name = self._survey.topic_name(value) if value.get("TopicId") else None
        if name is not None:
            made |= {"Name": name, "Topic": name}
            del made["TopicId"]
        return made

    def _replaced_for(self, request: Json) -> Callable[[str, Json, Json], Json]:
        def replaced(key: str, value: Json, around: Json) -> Json:
            if key == "MemberId" and value:
                return self._members.member_id(value)
            if fields.entity_of(key) == "generationId":
                return self._members.generation(around.get("MemberId", request.get("MemberId", "")), value)
            if fields.entity_of(key) == "leaderEpoch":
                return -1
            return _dollars(value) if isinstance(value, str) else value

        return replaced

    # -- expectations --------------------------------------------------------------------------------------------

    def _of_join(self, one: Exchange) -> Step:
        return {"generation_id": one.answer["GenerationId"]} if self.starts_fresh(one.request["GroupId"]) else {}

    def starts_fresh(self, group_id: str) -> bool:
        """Whether a group begins in the session."""
        return self._survey.first_generations.get(group_id) == 1

    def _of_sync(self, one: Exchange) -> Step:
        partitions = assigned(bytes_of(one.answer["Assignment"]) or b"")
        return {} if partitions is None else {"assignment": partitions}

    def _of_offset_fetch(self, one: Exchange) -> Step:
        if "Groups" in one.answer:
            groups = [
                {"group_id": each["GroupId"], "topics": self._committed(each["Topics"])}
                for each in one.answer["Groups"]
            ]
            return {"groups": _in_any_order(groups)}
        return {"topics": self._committed(one.answer["Topics"])}

    def _committed(self, topics: Sequence[Json]) -> Json:
        return self._by_partition(topics, "CommittedOffset", "committed_offset")

    def _of_list_offsets(self, one: Exchange) -> Step:
        asked = [each["Timestamp"] for topic in one.request["Topics"] for each in topic["Partitions"]]
        if not all(time in _POSITIONS for time in asked) or one.version < 1:
            return {}
        return {"topics": self._by_partition(one.answer["Topics"], "Offset", "offset")}

    def _by_partition(self, topics: Sequence[Json], key: str, name: str) -> Json:
        return _in_any_order(
            [
                {
                    "name": self._survey.topic_name(topic),
                    "partitions": _in_any_order(
                        [{"partition_index": each["PartitionIndex"], name: each[key]} for each in topic["Partitions"]]
                    ),
                }
                for topic in topics
            ]
        )

    def _of_describe_groups(self, one: Exchange) -> Step:
        groups = [{"group_id": each["GroupId"], "group_state": each["GroupState"]} for each in one.answer["Groups"]]
        return {"groups": _in_any_order(groups)}


_INSIDE: Mapping[str, Callable[[StepMaker, Exchange], Step]] = {
    "JoinGroup": StepMaker._of_join,
    "SyncGroup": StepMaker._of_sync,
    "OffsetFetch": StepMaker._of_offset_fetch,
    "ListOffsets": StepMaker._of_list_offsets,
    "DescribeGroups": StepMaker._of_describe_groups,
}


def _in_any_order(entries: list[Json]) -> Json:
    return {"unordered": entries} if len(entries) > 1 else entries


def _dollars(text: str) -> str:
    """A text that would name something saved, so that it stands for itself."""
    return f"${text}" if text.startswith("$") else text
