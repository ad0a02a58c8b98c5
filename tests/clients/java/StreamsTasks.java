// Kafka's own assignor of streams groups and what it makes of topologies, asked line by line: each question and each
// answer is one line of JSON.
//   {"op": "assign", "standbys": ..., "subtopologies": [{"id": ..., "tasks": ..., "stateful": ...}],
//    "members": [{"id": ..., "process": ..., "active": {subtopology: [...]}, "standby": {...}}]}:
//        {member: {"active": {subtopology: [...]}, "standby": {...}}}
//   {"op": "configure", "existing": {topic: partitions}, "subtopologies": [{"id", "sources", "sinks", "repartition":
//    {topic: partitions}, "changelogs": [...], "copartition": [[[...], [...]]]}]}: {"tasks": {subtopology: count},
//        "topics": {topic: partitions}, "missing": [...], "status": code} or {"error": class}

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.*;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataDelta;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.generated.StreamsGroupTopologyValue;
import org.apache.kafka.coordinator.group.streams.StreamsTopology;
import org.apache.kafka.coordinator.group.streams.assignor.*;
import org.apache.kafka.coordinator.group.streams.topics.*;
import org.slf4j.helpers.NOPLogger;

public class StreamsTasks {
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = questions.readLine()) != null; ) {
            JsonNode question = JSON.readTree(line);
            JsonNode answer = question.get("op").asText().equals("assign") ? assign(question) : configure(question);
            System.out.println(JSON.writeValueAsString(answer));
        }
    }

    static JsonNode assign(JsonNode question) {
        Map<String, AssignmentMemberSpec> members = new HashMap<>();
        for (JsonNode member : question.get("members"))
            members.put(member.get("id").asText(), new AssignmentMemberSpec(Optional.empty(), Optional.empty(),
                tasks(member.get("active")), tasks(member.get("standby")), Map.of(), member.get("process").asText(),
                Map.of(), Map.of(), Map.of()));
        Map<String, String> configs = Map.of("num.standby.replicas", question.get("standbys").asText());
        GroupSpec group = new GroupSpecImpl(Collections.unmodifiableMap(members), configs);
        ObjectNode answer = JSON.createObjectNode();
        new StickyTaskAssignor().assign(group, topology(question.get("subtopologies"))).members().forEach((id, of) -> {
            ObjectNode node = answer.putObject(id);
            put(node.putObject("active"), of.activeTasks());
            put(node.putObject("standby"), of.standbyTasks());
        });
        return answer;
    }

    static TopologyDescriber topology(JsonNode subtopologies) {
        Map<String, JsonNode> known = new LinkedHashMap<>();
        subtopologies.forEach(each -> known.put(each.get("id").asText(), each));
        return new TopologyDescriber() {
            public List<String> subtopologies() {
                return List.copyOf(known.keySet());
            }

            public int maxNumInputPartitions(String id) {
                return known.get(id).get("tasks").asInt();
            }

            public boolean isStateful(String id) {
                return known.get(id).get("stateful").asBoolean();
            }
        };
    }

    static Map<String, Set<Integer>> tasks(JsonNode lists) {
        Map<String, Set<Integer>> tasks = new HashMap<>();
        lists.properties().forEach(entry -> {
            Set<Integer> partitions = new HashSet<>();
            entry.getValue().forEach(partition -> partitions.add(partition.asInt()));
            tasks.put(entry.getKey(), partitions);
        });
        return tasks;
    }

    static void put(ObjectNode node, Map<String, Set<Integer>> tasks) {
        tasks.forEach((id, partitions) -> partitions.stream().sorted().forEach(node.withArray("/" + id)::add));
    }

    static JsonNode configure(JsonNode question) {
        StreamsGroupTopologyValue value = new StreamsGroupTopologyValue().setEpoch(1);
        question.get("subtopologies").forEach(each -> value.subtopologies().add(subtopology(each)));
        ObjectNode answer = JSON.createObjectNode();
        ConfiguredTopology configured;
        try {
            configured = InternalTopicManager.configureTopics(NOPLogger.NOP_LOGGER, "g", "m", 0,
                StreamsTopology.fromRecord(value), image(question.get("existing")), Time.SYSTEM);
        } catch (RuntimeException error) {
            return answer.put("error", error.getClass().getSimpleName());
        }
        ObjectNode tasks = answer.putObject("tasks"), topics = answer.putObject("topics");
        configured.subtopologies().ifPresent(all -> all.forEach((id, of) -> {
            tasks.put(id, of.numberOfTasks());
            of.repartitionSourceTopics().values().forEach(topic -> topics.put(topic.name(), topic.numberOfPartitions()));
            of.stateChangelogTopics().values().forEach(topic -> topics.put(topic.name(), topic.numberOfPartitions()));
        }));
        configured.internalTopicsToBeCreated().keySet().forEach(answer.putArray("missing")::add);
        configured.topicConfigurationException().ifPresentOrElse(
            error -> answer.put("status", error.status().code()), () -> answer.putNull("status"));
        return answer;
    }

    static StreamsGroupTopologyValue.Subtopology subtopology(JsonNode node) {
        StreamsGroupTopologyValue.Subtopology made = new StreamsGroupTopologyValue.Subtopology()
            .setSubtopologyId(node.get("id").asText()).setSourceTopics(texts(node.get("sources")))
            .setRepartitionSinkTopics(texts(node.get("sinks")));
        node.get("repartition").properties().forEach(entry -> made.repartitionSourceTopics().add(
            new StreamsGroupTopologyValue.TopicInfo().setName(entry.getKey()).setPartitions(entry.getValue().asInt())));
        texts(node.get("changelogs")).forEach(name -> made.stateChangelogTopics().add(
            new StreamsGroupTopologyValue.TopicInfo().setName(name)));
        node.get("copartition").forEach(group -> made.copartitionGroups().add(
            new StreamsGroupTopologyValue.CopartitionGroup().setSourceTopics(shorts(group.get(0)))
                .setRepartitionSourceTopics(shorts(group.get(1)))));
        return made;
    }

    static List<String> texts(JsonNode list) {
        List<String> texts = new ArrayList<>();
        list.forEach(each -> texts.add(each.asText()));
        return texts;
    }

    static List<Short> shorts(JsonNode list) {
        List<Short> shorts = new ArrayList<>();
        list.forEach(each -> shorts.add((short) each.asInt()));
        return shorts;
    }

    static CoordinatorMetadataImage image(JsonNode existing) {
        return new CoordinatorMetadataImage() {
            public Optional<TopicMetadata> topicMetadata(String name) {
                return existing.has(name) ? Optional.of(metadata(name, existing.get(name).asInt())) : Optional.empty();
            }

            public Optional<TopicMetadata> topicMetadata(Uuid id) {
                return Optional.empty();
            }

            public Set<Uuid> topicIds() {
                return Set.of();
            }

            public Set<String> topicNames() {
                return Set.of();
            }

            public CoordinatorMetadataDelta emptyDelta() {
                return null;
            }

            public long version() {
                return 0;
            }

            public boolean isEmpty() {
                return false;
            }
        };
    }

    static CoordinatorMetadataImage.TopicMetadata metadata(String name, int partitions) {
        return new CoordinatorMetadataImage.TopicMetadata() {
            public String name() {
                return name;
            }

            public Uuid id() {
                return Uuid.ZERO_UUID;
            }

            public int partitionCount() {
                return partitions;
            }

            public List<String> partitionRacks(int partition) {
                return List.of();
            }
        };
    }
}
