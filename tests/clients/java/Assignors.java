// Kafka's own assignors and its member table, asked line by line: each question and each answer is one line of JSON.
//   {"op": "table", "new": true}, {"op": "table", "put": "a"}, {"op": "table", "remove": "a"}: the keys in order
//   {"op": "assign", "assignor": ..., "homogeneous": ..., "counts": {topic: partitions}, "assignable": {topic: [...]},
//    "members": [{"id": ..., "instance": ..., "topics": [...], "previous": {topic: [...]}}]}: {member: {topic: [...]}}
// Topics are ids in hex. Orders matter, in questions as in answers.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.*;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.coordinator.group.api.assignor.*;
import org.apache.kafka.coordinator.group.assignor.*;
import org.apache.kafka.coordinator.group.modern.*;
import org.apache.kafka.timeline.SnapshotRegistry;
import org.apache.kafka.timeline.TimelineHashMap;

public class Assignors {
    static final ObjectMapper JSON = new ObjectMapper();
    static TimelineHashMap<String, Boolean> table;

    public static void main(String[] args) throws Exception {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = questions.readLine()) != null; ) {
            JsonNode question = JSON.readTree(line);
            JsonNode answer = question.get("op").asText().equals("table") ? table(question) : assign(question);
            System.out.println(JSON.writeValueAsString(answer));
        }
    }

    static JsonNode table(JsonNode question) {
        if (question.has("new")) table = new TimelineHashMap<>(new SnapshotRegistry(new LogContext()), 0);
        if (question.has("put")) table.put(question.get("put").asText(), true);
        if (question.has("remove")) table.remove(question.get("remove").asText());
        ArrayNode keys = JSON.createArrayNode();
        table.keySet().forEach(keys::add);
        return keys;
    }

    static JsonNode assign(JsonNode question) {
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new HashMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        for (JsonNode member : question.get("members")) {
            String id = member.get("id").asText();
            Map<Uuid, Set<Integer>> previous = partitions(member.get("previous"));
            previous.forEach((topic, of) -> of.forEach(p -> owners.computeIfAbsent(topic, k -> new HashMap<>()).put(p, id)));
            Set<Uuid> topics = new LinkedHashSet<>();
            member.get("topics").forEach(topic -> topics.add(uuid(topic.asText())));
            Optional<String> instance = Optional.ofNullable(member.get("instance").textValue());
            members.put(id, new MemberSubscriptionAndAssignmentImpl(Optional.empty(), instance, topics, new Assignment(previous)));
        }
        SubscriptionType type = question.get("homogeneous").asBoolean() ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
        Optional<Map<Uuid, Set<Integer>>> assignable = Optional.ofNullable(question.get("assignable")).map(Assignors::partitions);
        GroupSpec group = new GroupSpecImpl(Collections.unmodifiableMap(members), type, owners, assignable);
        Map<String, MemberAssignment> target = assignor(question).assign(group, topics(question.get("counts"))).members();
        ObjectNode answer = JSON.createObjectNode();
        for (String id : group.memberIds()) {
            ObjectNode of = answer.putObject(id);
            if (target.containsKey(id))
                target.get(id).partitions().forEach((topic, list) -> list.forEach(of.putArray(hex(topic))::add));
        }
        return answer;
    }

    static PartitionAssignor assignor(JsonNode question) {
        return switch (question.get("assignor").asText()) {
            case "uniform" -> new UniformAssignor();
            case "range" -> new RangeAssignor();
            default -> new SimpleAssignor();
        };
    }

    static SubscribedTopicDescriber topics(JsonNode counts) {
        return new SubscribedTopicDescriber() {
            public int numPartitions(Uuid topic) {
                return counts.path(hex(topic)).asInt(-1);
            }

            public Set<String> racksForPartition(Uuid topic, int partition) {
                return Set.of();
            }
        };
    }

    /** As Kafka reads an assignment from its record. */
    static Map<Uuid, Set<Integer>> partitions(JsonNode lists) {
        Map<Uuid, Set<Integer>> partitions = new HashMap<>();
        lists.properties().forEach(entry -> {
            List<Integer> list = new ArrayList<>();
            entry.getValue().forEach(partition -> list.add(partition.asInt()));
            partitions.put(uuid(entry.getKey()), new HashSet<>(list));
        });
        return partitions;
    }

    static Uuid uuid(String hex) {
        return new Uuid(Long.parseUnsignedLong(hex.substring(0, 16), 16), Long.parseUnsignedLong(hex.substring(16), 16));
    }

    static String hex(Uuid id) {
        return String.format("%016x%016x", id.getMostSignificantBits(), id.getLeastSignificantBits());
    }
}
