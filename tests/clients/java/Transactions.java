// Transactions with Kafka's own producer and consumer: prints a line per chapter, exits 1 at the first that fails.
// Run: java -cp '.java/lib/*' tests/clients/java/Transactions.java HOST:PORT [chapter ...]

import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.*;
import org.apache.kafka.common.serialization.*;

public class Transactions {
    static final int PARTITIONS = 4;
    static String bootstrap;

    public static void main(String[] args) throws Exception {
        bootstrap = args[0];
        List<String> chapters = args.length > 1 ? List.of(args).subList(1, args.length)
            : List.of("copy", "copy-server-side", "zombie", "abort", "reader", "offsets", "admin", "many");
        for (String chapter : chapters) {
            long began = System.currentTimeMillis();
            switch (chapter) {
                case "copy" -> copy("classic");
                case "copy-server-side" -> copy("consumer");
                case "zombie" -> zombie();
                case "abort" -> abort();
                case "reader" -> reader();
                case "offsets" -> offsets();
                case "admin" -> admin();
                case "many" -> many();
                default -> throw new IllegalArgumentException(chapter);
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

    static Admin adminClient() { return Admin.create(Map.of("bootstrap.servers", bootstrap)); }

    static String topic(String name, int partitions) throws Exception {
        try (Admin admin = adminClient()) {
            admin.createTopics(List.of(new NewTopic(name, partitions, (short) 1))).all().get();
        }
        return name;
    }

    static KafkaProducer<String, String> producer(String transactionalId) {
        Map<String, Object> config = new HashMap<>(Map.of("bootstrap.servers", bootstrap, "linger.ms", 5, "retry.backoff.ms", 20));
        if (transactionalId != null) config.put("transactional.id", transactionalId);
        return new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
    }

    static KafkaProducer<String, String> begun(String transactionalId) {
        var producer = producer(transactionalId);
        producer.initTransactions();
        producer.beginTransaction();
        return producer;
    }

    static KafkaConsumer<String, String> consumer(String group, String isolation, int maxRecords) {
        return consumer(group, isolation, maxRecords, "classic");
    }

    static KafkaConsumer<String, String> consumer(String group, String isolation, int maxRecords, String protocol) {
        Map<String, Object> config = new HashMap<>(Map.of("bootstrap.servers", bootstrap, "group.id", group, "auto.offset.reset", "earliest",
            "enable.auto.commit", false, "group.protocol", protocol,
            "isolation.level", isolation, "max.poll.records", maxRecords, "default.api.timeout.ms", 20_000));
        if (protocol.equals("classic")) config.putAll(Map.of("heartbeat.interval.ms", 200, "session.timeout.ms", 10_000));
        return new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
    }

    /** All values of a topic up to where a reader of this isolation level comes to an end. */
    static List<String> values(String topic, String isolation) {
        List<String> found = new ArrayList<>();
        try (var consumer = consumer("values", isolation, 500)) {
            List<TopicPartition> all = consumer.partitionsFor(topic).stream().map(p -> new TopicPartition(topic, p.partition())).toList();
            consumer.assign(all);
            consumer.seekToBeginning(all);
            Map<TopicPartition, Long> ends = consumer.endOffsets(all);
            long end = System.currentTimeMillis() + 30_000;
            while (ends.entrySet().stream().anyMatch(e -> consumer.position(e.getKey()) < e.getValue())) {
                check(System.currentTimeMillis() < end, "read " + topic + " up to " + ends);
                for (var r : consumer.poll(Duration.ofMillis(100))) found.add(r.value());
            }
        }
        return found;
    }

    static <T> T until(String what, Callable<T> condition) throws Exception {
        long end = System.currentTimeMillis() + 30_000;
        while (true) {
            T found = condition.call();
            if (found != null) return found;
            check(System.currentTimeMillis() < end, "within 30 s: " + what);
            Thread.sleep(20);
        }
    }

    static Set<String> names(int count) {
        return IntStream.range(0, count).mapToObj(n -> "value-" + n).collect(Collectors.toSet());
    }

    static void fill(String topic, int first, int count) {
        try (var producer = producer(null)) {
            for (int n = first; n < first + count; n++) producer.send(new ProducerRecord<>(topic, n % PARTITIONS, "key-" + n, "value-" + n));
        }
    }

    /** Copies in transactions of some records each, until it dies in the middle of one, or is told to stop. */
    static class Copier extends Thread {
        final String source, target, id, protocol;
        final int diesAfter;
        volatile boolean stop, hasBegun, isDead;
        volatile Throwable failure;
        KafkaProducer<String, String> producer;

        Copier(String source, String target, String id, String protocol, int diesAfter) {
            this.source = source; this.target = target; this.id = id; this.protocol = protocol; this.diesAfter = diesAfter;
            start();
        }

        @Override public void run() {
            producer = producer(id);
            try (var consumer = consumer("copiers-" + source, "read_committed", 50, protocol)) {
                producer.initTransactions();
                consumer.subscribe(List.of(source));
                for (int transactions = 0; !stop; ) {
                    var records = consumer.poll(Duration.ofMillis(100));
                    if (records.isEmpty()) continue;
                    producer.beginTransaction();
                    hasBegun = true;
                    try {
                        Map<TopicPartition, OffsetAndMetadata> behind = new HashMap<>();
                        for (var r : records) {
                            producer.send(new ProducerRecord<>(target, r.partition(), r.key(), r.value()));
                            behind.put(new TopicPartition(source, r.partition()), new OffsetAndMetadata(r.offset() + 1));
                        }
                        producer.sendOffsetsToTransaction(behind, consumer.groupMetadata());
                        if (++transactions == diesAfter) {
                            producer.flush();
                            isDead = true;
                            return; // with its transaction open
                        }
                        if (transactions % 3 == 0) throw new CommitFailedException("as if the application had failed");
                        producer.commitTransaction();
                    } catch (CommitFailedException e) { // a rebalance was faster, or the application failed
                        producer.abortTransaction();
                        rewind(consumer);
                    }
                }
                producer.close();
            } catch (Throwable e) {
                failure = e;
            }
        }

        static void rewind(KafkaConsumer<String, String> consumer) {
            var committed = consumer.committed(consumer.assignment());
            for (var partition : consumer.assignment()) {
                var offset = committed.get(partition);
                if (offset == null) consumer.seekToBeginning(List.of(partition)); else consumer.seek(partition, offset.offset());
            }
        }

        void finish() throws Exception {
            stop = true;
            join(30_000);
            check(failure == null, id + " failed: " + failure);
        }
    }

    /** Two copiers share the work; one dies inside a transaction and comes back under its id, which fences the dead one. */
    static void copy(String protocol) throws Exception {
        String source = topic("copy-in-" + protocol, PARTITIONS), target = topic("copy-out-" + protocol, PARTITIONS);
        String first = "copier-1-" + protocol;
        fill(source, 0, 2_000);
        Copier one = new Copier(source, target, first, protocol, 4);
        until("the first begins", () -> one.hasBegun ? true : null); // the second could be done with everything before it
        Copier two = new Copier(source, target, "copier-2-" + protocol, protocol, 0);
        until("the first dies", () -> one.isDead ? true : null);
        Copier again = new Copier(source, target, first, protocol, 0);
        fill(source, 2_000, 1_000);
        until("3,000 records", () -> values(target, "read_committed").size() >= 3_000 ? true : null);
        again.finish(); two.finish();
        List<String> copied = values(target, "read_committed");
        check(copied.size() == 3_000 && new HashSet<>(copied).equals(names(3_000)), "each record once, not " + copied.size());
        check(values(target, "read_uncommitted").size() > 3_000, "what was aborted is in the log");
        try { one.producer.commitTransaction(); check(false, "the dead one is fenced"); }
        catch (ProducerFencedException | InvalidProducerEpochException e) { /* as it should be */ }
    }

    /** A new producer of the same id aborts what the old one began; whatever the old one does then, it is fenced. */
    static void zombie() throws Exception {
        String topic = topic("zombie", 1);
        var old = begun("zombie");
        old.send(new ProducerRecord<>(topic, "k", "old")).get();
        var young = begun("zombie");
        young.send(new ProducerRecord<>(topic, "k", "young")).get();
        Throwable failure = null;
        try { old.send(new ProducerRecord<>(topic, "k", "late")).get(); } catch (ExecutionException e) { failure = e.getCause(); }
        check(failure instanceof InvalidProducerEpochException || failure instanceof ProducerFencedException, "a late record: " + failure);
        young.commitTransaction();
        check(values(topic, "read_committed").equals(List.of("young")), "only the young one's");
        young.close();
        old.close(Duration.ZERO);
    }

    /** Aborted ones are between committed ones: read_committed has only these, in their order. */
    static void abort() throws Exception {
        String topic = topic("abort", 1);
        var producer = producer("abort");
        producer.initTransactions();
        List<String> wanted = new ArrayList<>();
        for (int n = 0; n < 20; n++) {
            producer.beginTransaction();
            for (int i = 0; i < 5; i++) producer.send(new ProducerRecord<>(topic, 0, "k", n + "." + i));
            if (n % 2 == 0) { producer.abortTransaction(); continue; }
            for (int i = 0; i < 5; i++) wanted.add(n + "." + i);
            producer.commitTransaction();
        }
        producer.close();
        check(values(topic, "read_committed").equals(wanted), "what was committed");
        check(values(topic, "read_uncommitted").size() >= wanted.size(), "what is in the log");
    }

    /** Readers of what is committed wait for the oldest open transaction, also with plain records behind it. */
    static void reader() throws Exception {
        String topic = topic("reader", 1);
        var first = begun("reader-1");
        first.send(new ProducerRecord<>(topic, "k", "first")).get();
        var second = begun("reader-2");
        second.send(new ProducerRecord<>(topic, "k", "second")).get();
        second.commitTransaction();
        try (var plain = producer(null)) { plain.send(new ProducerRecord<>(topic, "k", "plain")).get(); }
        check(values(topic, "read_committed").isEmpty(), "nothing before the first one ends");
        check(values(topic, "read_uncommitted").equals(List.of("first", "second", "plain")), "everything");
        first.commitTransaction();
        until("all three", () -> values(topic, "read_committed").equals(List.of("first", "second", "plain")) ? true : null);
        first.close(); second.close();
    }

    /** Offsets in a transaction are seen when it is committed; an aborted one leaves those before it. */
    static void offsets() throws Exception {
        String topic = topic("offsets", 1);
        TopicPartition partition = new TopicPartition(topic, 0);
        ConsumerGroupMetadata group;
        try (var consumer = consumer("offsets-group", "read_committed", 1)) { group = consumer.groupMetadata(); }
        var producer = begun("offsets");
        producer.sendOffsetsToTransaction(Map.of(partition, new OffsetAndMetadata(5, "five")), group);
        producer.commitTransaction();
        try (Admin admin = adminClient()) {
            until("5", () -> offset(admin, partition) == 5 ? true : null);
            producer.beginTransaction();
            producer.sendOffsetsToTransaction(Map.of(partition, new OffsetAndMetadata(9)), group);
            check(offset(admin, partition) == 5, "pending offsets are not seen");
            producer.abortTransaction();
            check(offset(admin, partition) == 5, "aborted offsets are gone");
        }
        producer.close();
    }

    static long offset(Admin admin, TopicPartition partition) throws Exception {
        var found = admin.listConsumerGroupOffsets("offsets-group").partitionsToOffsetAndMetadata().get().get(partition);
        return found == null ? -1 : found.offset();
    }

    /** What an administrator sees of an open transaction, and how he ends it. */
    static void admin() throws Exception {
        String topic = topic("admin", 1);
        TopicPartition partition = new TopicPartition(topic, 0);
        var producer = begun("admin");
        producer.send(new ProducerRecord<>(topic, "k", "v")).get();
        try (Admin admin = adminClient()) {
            var described = admin.describeTransactions(List.of("admin")).description("admin").get();
            check(described.state() == TransactionState.ONGOING && described.topicPartitions().equals(Set.of(partition)), "described: " + described);
            var listed = admin.listTransactions(new ListTransactionsOptions().filterProducerIds(List.of(described.producerId()))).all().get();
            check(listed.size() == 1 && listed.iterator().next().transactionalId().equals("admin"), "listed: " + listed);
            var active = admin.describeProducers(List.of(partition)).partitionResult(partition).get().activeProducers();
            check(active.size() == 1 && active.get(0).currentTransactionStartOffset().equals(OptionalLong.of(0)), "active: " + active);
            admin.fenceProducers(List.of("admin")).all().get();
            until("the transaction was aborted", () ->
                admin.describeTransactions(List.of("admin")).description("admin").get().state() != TransactionState.ONGOING ? true : null);
        }
        try { producer.commitTransaction(); check(false, "fenced by the administrator"); }
        catch (KafkaException e) { /* fenced, or aborted */ }
        producer.close(Duration.ZERO);
        check(values(topic, "read_committed").isEmpty(), "nothing was committed");
    }

    /** Many short transactions over many partitions, from several producers at once. */
    static void many() throws Exception {
        String topic = topic("many", PARTITIONS);
        List<Thread> threads = new ArrayList<>();
        Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
        for (int t = 0; t < 4; t++) {
            final int mine = t;
            Thread thread = new Thread(() -> {
                try (var producer = producer("many-" + mine)) {
                    producer.initTransactions();
                    for (int n = 0; n < 50; n++) {
                        producer.beginTransaction();
                        for (int i = 0; i < 10; i++) producer.send(new ProducerRecord<>(topic, i % PARTITIONS, "k", mine + "." + n + "." + i));
                        if (n % 5 == 4) producer.abortTransaction(); else producer.commitTransaction();
                    }
                } catch (Throwable e) { failures.add(e); }
            });
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) thread.join();
        check(failures.isEmpty(), "failed: " + failures);
        List<String> read = until("1,600 records", () -> {
            List<String> found = values(topic, "read_committed");
            return found.size() >= 1_600 ? found : null;
        });
        check(read.size() == 1_600 && new HashSet<>(read).size() == 1_600, "each once: " + read.size());
    }
}
