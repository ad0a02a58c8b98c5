// What is recorded of the Java client: a topic, some records, a group of one and then two members, commits.

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class Story {
  static final String TOPIC = "orders-java";
  static final String GROUP = "billing-java";
  static final TopicPartition FIRST = new TopicPartition(TOPIC, 0);

  static KafkaConsumer<String, String> consumer(String bootstrap, String name) {
    KafkaConsumer<String, String> made =
        new KafkaConsumer<>(
            Map.of(
                "bootstrap.servers", bootstrap,
                "client.id", name,
                "group.id", GROUP,
                "auto.offset.reset", "earliest",
                "enable.auto.commit", "false",
                "enable.metrics.push", "false",
                "heartbeat.interval.ms", "500"),
            new StringDeserializer(),
            new StringDeserializer());
    made.subscribe(List.of(TOPIC));
    return made;
  }

  /** Polls all consumers in turn until something is so; the values that came. */
  static List<String> poll(List<KafkaConsumer<String, String>> consumers, BooleanSupplier isDone) {
    List<String> values = new ArrayList<>();
    long deadline = System.currentTimeMillis() + 60_000;
    while (!isDone.getAsBoolean()) {
      if (System.currentTimeMillis() > deadline) throw new IllegalStateException("the story takes too long");
      for (KafkaConsumer<String, String> consumer : consumers) {
        for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
          values.add(record.value());
        }
      }
    }
    return values;
  }

  public static void main(String[] arguments) throws Exception {
    String bootstrap = arguments[0];
    Map<String, Object> common = Map.of("bootstrap.servers", bootstrap, "enable.metrics.push", "false");
    try (Admin admin = Admin.create(common);
        KafkaProducer<String, String> producer =
            new KafkaProducer<>(common, new StringSerializer(), new StringSerializer());
        KafkaConsumer<String, String> first = consumer(bootstrap, "consumer-1");
        KafkaConsumer<String, String> second = consumer(bootstrap, "consumer-2")) {
      admin.createTopics(List.of(new NewTopic(TOPIC, 2, (short) 1))).all().get();
      for (int number = 0; number < 6; number++) {
        producer.send(new ProducerRecord<>(TOPIC, number % 2, "key " + number, "order " + number));
      }
      producer.flush();
      List<String> seen = new ArrayList<>();
      long deadline = System.currentTimeMillis() + 60_000;
      while (seen.size() < 6 && System.currentTimeMillis() < deadline) {
        first.poll(Duration.ofMillis(500)).forEach(record -> seen.add(record.value()));
      }
      first.commitSync(Map.of(FIRST, new OffsetAndMetadata(3, "by hand")));
      poll(List.of(first, second), () -> first.assignment().size() == 1 && second.assignment().size() == 1);
      producer.send(new ProducerRecord<>(TOPIC, 0, "key 6", "order 6")).get();
      admin.describeConsumerGroups(List.of(GROUP)).all().get();
      second.close();
      poll(List.of(first), () -> first.assignment().size() == 2);
      first.offsetsForTimes(Map.of(FIRST, 0L));
      first.commitSync();
      admin.listConsumerGroupOffsets(GROUP).partitionsToOffsetAndMetadata().get();
    }
  }
}
