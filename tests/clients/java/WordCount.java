// One instance of a Kafka Streams application that counts words, exactly once; it runs until its standard input ends.
// Run: java -cp '.java/lib/*' tests/clients/java/WordCount.java HOST:PORT STATE_FOLDER [key=value ...]     more settings of Kafka Streams

import java.time.Duration;
import java.util.*;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.state.*;

public class WordCount {
    public static void main(String[] args) throws Exception {
        Properties config = new Properties();
        config.putAll(Map.of(
            StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[0],
            StreamsConfig.STATE_DIR_CONFIG, args[1],
            StreamsConfig.APPLICATION_ID_CONFIG, "word-count",
            StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2,
            StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100,
            StreamsConfig.REPLICATION_FACTOR_CONFIG, 1));
        config.putAll(Map.of(
            StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest",
            StreamsConfig.producerPrefix("transaction.timeout.ms"), 5_000));
        for (int n = 2; n < args.length; n++) config.put(args[n].substring(0, args[n].indexOf('=')), args[n].substring(args[n].indexOf('=') + 1));
        // The shortest session that a Kafka allows, so that who was killed is missed soon; its transaction times out, too.
        // The broker says how long it is where the broker assigns the tasks.
        if (!"streams".equals(config.get("group.protocol"))) config.putAll(Map.of(
            StreamsConfig.consumerPrefix("session.timeout.ms"), 6_000,
            StreamsConfig.consumerPrefix("heartbeat.interval.ms"), 300));

        StreamsBuilder builder = new StreamsBuilder();
        builder.stream("lines", Consumed.with(Serdes.String(), Serdes.String()))
            .flatMapValues(line -> List.of(line.split(" ")))
            .groupBy((key, word) -> word, Grouped.with(Serdes.String(), Serdes.String()))
            .count(Materialized.<String, Long>as(Stores.inMemoryKeyValueStore("counts")).withCachingDisabled())
            .toStream()
            .to("counts", Produced.with(Serdes.String(), Serdes.Long()));

        KafkaStreams streams = new KafkaStreams(builder.build(), config);
        streams.setStateListener((state, before) -> System.out.println(state));
        streams.setUncaughtExceptionHandler(failure -> {
            failure.printStackTrace(System.out);
            return org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse.REPLACE_THREAD;
        });
        streams.start();
        while (System.in.read() >= 0) { }
        System.out.println(streams.close(Duration.ofSeconds(30)) ? "closed" : "not closed in time");
    }
}
