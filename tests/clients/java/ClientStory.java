// The story of tests/clients/story.py told with the Java client: prints a line per chapter, exits 1 at the first that fails.
// Run: java -cp '.java/lib/*' tests/clients/java/ClientStory.java HOST:PORT [chapter ...]

import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.*;

public class ClientStory {
    static final int PARTITIONS = 4;
    static final long START_MS = 1_700_000_000_000L;
    static String bootstrap;

    public static void main(String[] args) throws Exception {
        bootstrap = args[0];
        List<String> chapters = args.length > 1 ? List.of(args).subList(1, args.length)
            : List.of("none", "gzip", "snappy", "lz4", "zstd", "third", "resume", "times", "random-times", "static", "assignors");
        for (String chapter : chapters) {
            long began = System.currentTimeMillis();
            switch (chapter) {
                case "third" -> thirdMember();
                case "resume" -> resume();
                case "times" -> offsetsByTime();
                case "random-times" -> offsetsByTimeInRandomLogs();
                case "static" -> staticMember();
                case "assignors" -> assignors();
                default -> roundTrip(chapter);
            }
            System.out.println("ok " + chapter + " " + (System.currentTimeMillis() - began) + " ms");
        }
        System.exit(0);
    }

    static void check(boolean good, String what) {
        if (!good) {
            System.out.println("FAILED: " + what);
            System.exit(1);
        }
    }

    static String topic(String name) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            admin.createTopics(List.of(new NewTopic(name, PARTITIONS, (short) 1))).all().get();
        }
        return name;
    }

    static void produce(String topic, int first, int count, String codec) throws Exception {
        Map<String, Object> config = Map.of("bootstrap.servers", bootstrap, "compression.type", codec, "linger.ms", 5);
        try (var producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (int n = first; n < first + count; n++) {
                var record = new ProducerRecord<>(topic, n % PARTITIONS, START_MS + n, "key-" + n, "value-" + n);
                record.headers().add("n", Integer.toString(n).getBytes());
                sent.add(producer.send(record));
            }
            for (var future : sent) future.get(60, TimeUnit.SECONDS);
        }
    }

    /** A group member in a thread of its own; commits after each poll. */
    static class Member extends Thread {
        final Queue<String> values = new ConcurrentLinkedQueue<>();
        final KafkaConsumer<String, String> consumer;
        final String topic;
        volatile int limit = Integer.MAX_VALUE;
        volatile int partitions, assignments;
        volatile boolean stop;
        volatile Throwable failure;

        Member(String topic, String group, Map<String, Object> more) {
            Map<String, Object> config = new HashMap<>(Map.of("bootstrap.servers", bootstrap, "group.id", group, "auto.offset.reset", "earliest",
                "enable.auto.commit", false, "heartbeat.interval.ms", 200, "session.timeout.ms", 10_000));
            config.putAll(more);
            this.topic = topic;
            consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
        }

        Member(String topic, String group) { this(topic, group, Map.of()); }

        Member started() { start(); return this; }

        @Override public void run() {
            try (consumer) {
                consumer.subscribe(List.of(topic), new ConsumerRebalanceListener() {
                    public void onPartitionsRevoked(Collection<TopicPartition> gone) { }
                    public void onPartitionsAssigned(Collection<TopicPartition> added) { assignments++; }
                });
                while (!stop && values.size() < limit) {
                    List<String> batch = new ArrayList<>();
                    for (var r : consumer.poll(Duration.ofMillis(100))) {
                        check(r.key().equals("key-" + r.value().substring(6)), "the key belongs to the value");
                        check(new String(r.headers().lastHeader("n").value()).equals(r.value().substring(6)), "the header belongs to the value");
                        batch.add(r.value());
                    }
                    partitions = consumer.assignment().size();
                    if (batch.isEmpty()) continue;
                    try { consumer.commitSync(); } catch (RebalanceInProgressException | CommitFailedException e) { /* they come again */ }
                    values.addAll(batch);
                }
            } catch (Throwable e) {
                failure = e;
                e.printStackTrace(System.out);
            }
        }

        void finish() throws Exception {
            stop = true;
            join(30_000);
            check(failure == null, "a member failed: " + failure);
        }
    }

    static void until(String what, Callable<Boolean> condition) throws Exception {
        long end = System.currentTimeMillis() + 60_000;
        while (!condition.call()) {
            check(System.currentTimeMillis() < end, "within 60 s: " + what);
            Thread.sleep(20);
        }
    }

    static Set<String> values(int count) {
        return IntStream.range(0, count).mapToObj(n -> "value-" + n).collect(Collectors.toSet());
    }

    static Set<String> read(Member... members) {
        return Arrays.stream(members).flatMap(m -> m.values.stream()).collect(Collectors.toSet());
    }

    static void balanced(Member... members) throws Exception {
        until(members.length + " members share " + PARTITIONS + " partitions", () ->
            Arrays.stream(members).allMatch(m -> m.partitions > 0) && Arrays.stream(members).mapToInt(m -> m.partitions).sum() == PARTITIONS);
    }

    static void roundTrip(String codec) throws Exception {
        String topic = topic("round-trip-" + codec);
        Member a = new Member(topic, "group-" + codec).started(), b = new Member(topic, "group-" + codec).started();
        balanced(a, b);
        produce(topic, 0, 10_000, codec);
        until("10,000 records", () -> a.values.size() + b.values.size() >= 10_000);
        a.finish(); b.finish();
        check(a.values.size() + b.values.size() == 10_000 && read(a, b).equals(values(10_000)), "each record once");
    }

    static void thirdMember() throws Exception {
        String topic = topic("third");
        Member a = new Member(topic, "third").started(), b = new Member(topic, "third").started();
        balanced(a, b);
        produce(topic, 0, 1_000, "none");
        Member c = new Member(topic, "third").started();
        balanced(a, b, c);
        produce(topic, 1_000, 1_000, "none");
        until("2,000 records", () -> read(a, b, c).equals(values(2_000)));
        a.finish();
        balanced(b, c);
        produce(topic, 2_000, 1_000, "none");
        until("3,000 records", () -> read(a, b, c).equals(values(3_000)));
        b.finish(); c.finish();
    }

    static void resume() throws Exception {
        String topic = topic("resume");
        produce(topic, 0, 10_000, "lz4");
        Member first = new Member(topic, "resume");
        first.limit = 4_000;
        first.started().join();
        Member second = new Member(topic, "resume").started();
        until("the rest", () -> first.values.size() + second.values.size() >= 10_000);
        second.finish();
        check(first.values.size() + second.values.size() == 10_000 && read(first, second).equals(values(10_000)), "each record once");
    }

    static void offsetsByTime() throws Exception {
        String topic = topic("times");
        produce(topic, 0, 10_000, "gzip");
        Member m = new Member(topic, "times");
        Map<TopicPartition, Long> asked = new HashMap<>();
        for (int p = 0; p < PARTITIONS; p++) asked.put(new TopicPartition(topic, p), START_MS + 4_002);
        var found = m.consumer.offsetsForTimes(asked);
        for (int p = 0; p < PARTITIONS; p++) {
            long offset = found.get(new TopicPartition(topic, p)).offset();
            check(offset == (p < 2 ? 1001 : 1000), "partition " + p + " found " + offset);
        }
        asked.replaceAll((p, t) -> START_MS + 10_000);
        check(m.consumer.offsetsForTimes(asked).values().stream().allMatch(Objects::isNull), "nothing after the end");
        m.consumer.close();
    }

    /** Logs with times out of order, equal and far apart: the answer is that of a plain scan. */
    static void offsetsByTimeInRandomLogs() throws Exception {
        Random random = new Random(7);
        for (int round = 0; round < 12; round++) {
            String topic = topic("random-times-" + round);
            String codec = List.of("none", "gzip", "lz4", "zstd").get(round % 4);
            List<Long> times = new ArrayList<>();
            Map<String, Object> config = Map.of("bootstrap.servers", bootstrap, "compression.type", codec, "batch.size", 200 + random.nextInt(2_000));
            try (var producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
                for (int n = 1 + random.nextInt(200); n > 0; n--) {
                    times.add(START_MS + random.nextInt(300));
                    producer.send(new ProducerRecord<>(topic, 0, times.get(times.size() - 1), "k", "v"));
                }
            }
            TopicPartition partition = new TopicPartition(topic, 0);
            try (var consumer = new Member(topic, topic).consumer) {
                for (long asked = START_MS - 1; asked < START_MS + 302; asked += 1 + random.nextInt(20)) {
                    final long target = asked;
                    OffsetAndTimestamp found = consumer.offsetsForTimes(Map.of(partition, target)).get(partition);
                    int first = IntStream.range(0, times.size()).filter(i -> times.get(i) >= target).findFirst().orElse(-1);
                    check(first < 0 ? found == null : found != null && found.offset() == first && found.timestamp() == times.get(first),
                        "round " + round + ", time " + target + ": found " + found + ", a scan finds " + first);
                }
            }
        }
    }

    static void staticMember() throws Exception {
        String topic = topic("static");
        Map<String, Object> fixed = Map.of("group.instance.id", "i-1");
        Member other = new Member(topic, "static", Map.of("group.instance.id", "i-2")).started();
        Member before = new Member(topic, "static", fixed).started();
        balanced(before, other);
        int rebalances = other.assignments;
        before.finish();
        Member after = new Member(topic, "static", fixed).started();
        balanced(after, other);
        check(other.assignments == rebalances, "a static member's restart disturbs nobody");
        after.finish(); other.finish();
    }

    static void assignors() throws Exception {
        for (Class<?> assignor : List.of(RangeAssignor.class, RoundRobinAssignor.class, StickyAssignor.class, CooperativeStickyAssignor.class)) {
            String name = assignor.getSimpleName();
            String topic = topic(name);
            Map<String, Object> more = Map.of("partition.assignment.strategy", assignor.getName());
            Member a = new Member(topic, name, more).started();
            balanced(a);
            long began = System.currentTimeMillis();
            Member b = new Member(topic, name, more).started();
            balanced(a, b);
            System.out.println("   " + name + ": the second member had its partitions after " + (System.currentTimeMillis() - began) + " ms");
            a.finish(); b.finish();
        }
    }
}
