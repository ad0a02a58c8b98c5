import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.Random;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Writes records of all sizes, reads them in a group with a commit after each poll, then stays for its heartbeats. */
public class Hits {
    public static void main(String[] arguments) {
        String bootstrap = arguments[0], topic = arguments[1];
        int count = Integer.parseInt(arguments[2]), stayMs = Integer.parseInt(arguments[3]);
        Properties of = new Properties();
        of.put("bootstrap.servers", bootstrap);
        of.put("linger.ms", "1");
        Random chance = new Random(1);
        try (var producer = new KafkaProducer<>(of, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (int n = 0; n < count; n++) {
                producer.send(new ProducerRecord<>(topic, new byte[500 + chance.nextInt(700)]));
                if (n % 50 == 0) producer.flush();
            }
        }
        of.put("group.id", "java");
        of.put("auto.offset.reset", "earliest");
        of.put("enable.auto.commit", "false");
        of.put("max.poll.records", "50");
        of.put("heartbeat.interval.ms", "50");
        of.put("max.partition.fetch.bytes", arguments[4]);
        try (var consumer = new KafkaConsumer<>(of, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(topic));
            int read = 0;
            while (read < count) {
                ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofSeconds(10));
                if (records.isEmpty()) throw new IllegalStateException("nothing came after " + read + " records");
                read += records.count();
                consumer.commitSync();
            }
            long until = System.currentTimeMillis() + stayMs;
            while (System.currentTimeMillis() < until) consumer.poll(Duration.ofMillis(100));
        }
    }
}
