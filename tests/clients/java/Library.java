// A Java client that produces, reads as a member of a group, asks for offsets and makes transactions as it is told: see
// tests/clients/programs.py for the lines in and out. It compiles with the clients of Kafka 2.8 and of every newer release.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.*;

public class Library {
    static final ObjectMapper json = new ObjectMapper();
    static final Map<String, Class<?>> ASSIGNORS = Map.of(
        "range", RangeAssignor.class, "roundrobin", RoundRobinAssignor.class,
        "sticky", StickyAssignor.class, "cooperative-sticky", CooperativeStickyAssignor.class);
    static String bootstrap;
    static KafkaConsumer<String, String> consumer;

    public static void main(String[] args) throws Exception {
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = orders.readLine()) != null; ) {
            JsonNode order = json.readTree(line);
            if (order.has("login")) bootstrap = order.get("login").get("bootstrap").asText();
            ObjectNode answer = json.createObjectNode();
            try {
                obey(order, answer);
                answer.put("outcome", "");
            } catch (Exception e) {
                e.printStackTrace();
                answer.put("outcome", e.toString());
            }
            System.out.println(json.writeValueAsString(answer));
        }
        System.exit(0);
    }

    static void obey(JsonNode order, ObjectNode answer) throws Exception {
        switch (order.get("do").asText()) {
            case "produce" -> produce(order);
            case "transaction" -> transaction(order);
            case "offsets" -> offsets(order, answer.putArray("offsets"));
            case "subscribe" -> subscribe(order);
            case "poll" -> poll(answer.putArray("records"));
            case "commit" -> commit();
            default -> close();
        }
    }

    static KafkaProducer<String, String> producer(Map<String, Object> settings) {
        Map<String, Object> config = new HashMap<>(settings);
        config.put("bootstrap.servers", bootstrap);
        return new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
    }

    static void send(KafkaProducer<String, String> producer, JsonNode order) throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (JsonNode each : order.get("records")) {
            var record = new ProducerRecord<>(order.get("topic").asText(), each.get("partition").asInt(), each.get("timestamp_ms").asLong(), each.get("key").asText(), each.get("value").asText());
            for (JsonNode header : each.get("headers")) record.headers().add(header.get(0).asText(), header.get(1).asText().getBytes(StandardCharsets.UTF_8));
            sent.add(producer.send(record));
        }
        producer.flush();
        for (var future : sent) future.get();
    }

    static void produce(JsonNode order) throws Exception {
        try (var producer = producer(Map.of("compression.type", order.get("codec").asText(), "linger.ms", 5))) {
            send(producer, order);
        }
    }

    static void transaction(JsonNode order) throws Exception {
        try (var producer = producer(Map.of("transactional.id", order.get("transactional_id").asText()))) {
            producer.initTransactions();
            producer.beginTransaction();
            send(producer, order);
            if (order.get("commit").asBoolean()) producer.commitTransaction();
            else producer.abortTransaction();
        }
    }

    static KafkaConsumer<String, String> consumer(Map<String, Object> settings) {
        Map<String, Object> config = new HashMap<>(settings);
        config.put("bootstrap.servers", bootstrap);
        return new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
    }

    static void offsets(JsonNode order, ArrayNode found) {
        Map<TopicPartition, Long> asked = new LinkedHashMap<>();
        for (int p = 0; p < order.get("partitions").asInt(); p++) asked.put(new TopicPartition(order.get("topic").asText(), p), order.get("timestamp_ms").asLong());
        try (var consumer = consumer(Map.of())) {
            var answered = consumer.offsetsForTimes(asked);
            for (var partition : asked.keySet()) {
                if (answered.get(partition) == null) found.addNull();
                else found.add(answered.get(partition).offset());
            }
        }
    }

    static void subscribe(JsonNode order) {
        Map<String, Object> settings = new HashMap<>(Map.of("group.id", order.get("group").asText(), "enable.auto.commit", false));
        order.get("settings").fields().forEachRemaining(each -> settings.put(each.getKey(), each.getValue().asText()));
        settings.computeIfPresent("partition.assignment.strategy", (name, value) -> ASSIGNORS.get(value).getName());
        consumer = consumer(settings);
        consumer.subscribe(List.of(order.get("topic").asText()));
    }

    static void poll(ArrayNode records) {
        for (var record : consumer.poll(Duration.ofMillis(100))) {
            ObjectNode made = records.addObject();
            made.put("partition", record.partition()).put("key", record.key()).put("value", record.value()).put("timestamp_ms", record.timestamp());
            ArrayNode headers = made.putArray("headers");
            for (Header each : record.headers()) headers.addArray().add(each.key()).add(new String(each.value(), StandardCharsets.UTF_8));
        }
    }

    static void commit() {
        try { consumer.commitSync(); } catch (RebalanceInProgressException | CommitFailedException e) { /* the records come again */ }
    }

    static void close() {
        if (consumer != null) consumer.close();
    }
}
