// Members of groups that do what they are told: consumers of both protocols, and share consumers.
//
// It reads a command per line:
//   start NAME KIND key=value ...   KIND is "consumer" or "share"; topics=a,b or pattern=REGEX is what it subscribes to, the rest is its configuration
//   stop NAME                       it leaves its group
//   acknowledge NAME TYPE COUNT     a share consumer with share.acknowledgement.mode=explicit answers its oldest COUNT records: ACCEPT, RELEASE, REJECT or RENEW
// and prints a line per event:
//   NAME assigned a-0 a-1 ...       whenever its assignment has changed (all of it)
//   NAME read TOPIC-PARTITION OFFSET DELIVERY_COUNT VALUE
//   NAME acknowledged COUNT | NAME refused ERROR
//   NAME stopped | NAME failed ERROR
// It ends without a word to anybody when its standard input ends.
// Run: java -cp '.java/lib/*' tests/clients/java/Members.java HOST:PORT

import java.io.*;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.serialization.StringDeserializer;

public class Members {
    static final Duration POLL = Duration.ofMillis(100);
    static final Map<String, Member> members = new ConcurrentHashMap<>();
    static String bootstrap;

    public static void main(String[] args) throws Exception {
        bootstrap = args[0];
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = commands.readLine()) != null; ) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "start" -> {
                    Map<String, Object> settings = new HashMap<>();
                    for (int n = 3; n < words.length; n++) settings.put(words[n].substring(0, words[n].indexOf('=')), words[n].substring(words[n].indexOf('=') + 1));
                    Member member = words[2].equals("share") ? new Sharer(words[1], settings) : new Reader(words[1], settings);
                    members.put(words[1], member);
                    member.start();
                }
                case "stop" -> members.get(words[1]).stop = true;
                case "acknowledge" -> ((Sharer) members.get(words[1])).wanted.add(Map.entry(AcknowledgeType.valueOf(words[2]), Integer.parseInt(words[3])));
                default -> throw new IllegalArgumentException(line);
            }
        }
        Runtime.getRuntime().halt(0);
    }

    static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    abstract static class Member extends Thread {
        final String name;
        final Map<String, Object> settings;
        final String topics, pattern;
        volatile boolean stop;

        Member(String name, Map<String, Object> settings) {
            this.name = name;
            this.settings = settings;
            topics = (String) settings.remove("topics");
            pattern = (String) settings.remove("pattern");
            settings.put("bootstrap.servers", bootstrap);
        }

        abstract void live();

        @Override public void run() {
            try {
                live();
                say(name + " stopped");
            } catch (Throwable e) {
                e.printStackTrace();
                say(name + " failed " + e);
            }
        }

        void told(ConsumerRecord<String, String> record) {
            say(name + " read " + record.topic() + "-" + record.partition() + " " + record.offset() + " " + record.deliveryCount().orElse((short) 0) + " " + record.value());
        }
    }

    /** A consumer that commits after each poll. */
    static class Reader extends Member {
        Reader(String name, Map<String, Object> settings) { super(name, settings); }

        void live() {
            settings.putIfAbsent("auto.offset.reset", "earliest");
            settings.put("enable.auto.commit", false);
            Set<TopicPartition> assigned = null;
            try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
                if (topics != null) consumer.subscribe(List.of(topics.split(",")));
                else if ("classic".equals(settings.getOrDefault("group.protocol", "classic"))) consumer.subscribe(java.util.regex.Pattern.compile(pattern));
                else consumer.subscribe(new SubscriptionPattern(pattern));
                while (!stop) {
                    var records = consumer.poll(POLL);
                    if (!consumer.assignment().equals(assigned)) {
                        assigned = Set.copyOf(consumer.assignment());
                        say((name + " assigned " + assigned.stream().map(TopicPartition::toString).sorted().collect(Collectors.joining(" "))).trim());
                    }
                    if (records.isEmpty()) continue;
                    try { consumer.commitSync(); } catch (RebalanceInProgressException | CommitFailedException e) { /* they come again */ }
                    records.forEach(this::told);
                }
            }
        }
    }

    /** A share consumer; with explicit acknowledgement it holds what it read until it is told what to answer. */
    static class Sharer extends Member {
        final Queue<Map.Entry<AcknowledgeType, Integer>> wanted = new ConcurrentLinkedQueue<>();
        final Deque<ConsumerRecord<String, String>> held = new ArrayDeque<>();

        Sharer(String name, Map<String, Object> settings) { super(name, settings); }

        void live() {
            boolean explicit = "explicit".equals(settings.get("share.acknowledgement.mode"));
            try (var consumer = new KafkaShareConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
                consumer.subscribe(List.of(topics.split(",")));
                while (!stop) {
                    for (Map.Entry<AcknowledgeType, Integer> next; (next = wanted.poll()) != null; ) acknowledge(consumer, next.getKey(), next.getValue());
                    if (!held.isEmpty()) { pause(); continue; } // poll would refuse: records wait for their acknowledgement
                    for (var record : consumer.poll(POLL)) {
                        if (explicit) held.add(record);
                        told(record);
                    }
                }
            }
        }

        void acknowledge(KafkaShareConsumer<String, String> consumer, AcknowledgeType type, int count) {
            List<ConsumerRecord<String, String>> answered = new ArrayList<>();
            for (int n = 0; n < count; n++) answered.add(held.remove());
            for (var record : answered) consumer.acknowledge(record, type);
            // What is renewed comes once more from the next poll, without a new delivery.
            Map<TopicIdPartition, Optional<org.apache.kafka.common.KafkaException>> results = consumer.commitSync();
            var failure = results.values().stream().flatMap(Optional::stream).findFirst();
            say(failure.isPresent() ? name + " refused " + failure.get().getClass().getSimpleName() : name + " acknowledged " + count);
        }

        static void pause() {
            try { Thread.sleep(20); } catch (InterruptedException e) { throw new RuntimeException(e); }
        }
    }
}
