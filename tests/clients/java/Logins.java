// Java clients that log in and do what they are told: see tests/clients/programs.py for the lines in and out.
// Run: java -cp '.java/lib/*' tests/clients/java/Logins.java

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.*;
import java.nio.file.*;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import javax.security.auth.callback.Callback;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerTokenCallback;
import org.apache.kafka.common.serialization.*;

public class Logins {
    static final ObjectMapper json = new ObjectMapper();
    static final Map<Integer, Client> clients = new HashMap<>();

    public static void main(String[] args) throws Exception {
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = orders.readLine()) != null; ) {
            JsonNode order = json.readTree(line);
            int number = order.get("client").asInt();
            if (order.has("login")) clients.put(number, new Client(order.get("login")));
            String outcome = clients.get(number).obey(order);
            System.out.println(json.writeValueAsString(Map.of("outcome", outcome)));
        }
        System.exit(0);
    }

    static Map<String, Object> properties(JsonNode login) throws IOException {
        Map<String, Object> made = new HashMap<>();
        made.put("bootstrap.servers", login.get("bootstrap").asText());
        made.put("security.protocol", login.get("protocol").asText());
        made.put("reconnect.backoff.max.ms", 100);
        made.put("metadata.max.age.ms", 500);
        String mechanism = login.get("mechanism").asText();
        if (!mechanism.isEmpty()) {
            made.put("sasl.mechanism", mechanism);
            made.put("sasl.jaas.config", jaas(mechanism, login));
        }
        if (mechanism.equals("OAUTHBEARER")) made.put("sasl.login.callback.handler.class", GivenToken.class.getName());
        if (!login.get("authority").asText().isEmpty()) {
            made.put("ssl.truststore.type", "PEM");
            made.put("ssl.truststore.location", login.get("authority").asText());
        }
        if (!login.get("certificate").asText().isEmpty()) {
            made.put("ssl.keystore.type", "PEM");
            made.put("ssl.keystore.certificate.chain", Files.readString(Path.of(login.get("certificate").asText())));
            made.put("ssl.keystore.key", Files.readString(Path.of(login.get("key").asText())));
        }
        return made;
    }

    static String jaas(String mechanism, JsonNode login) {
        String packages = "org.apache.kafka.common.security.";
        String user = String.format("username=\"%s\" password=\"%s\"", login.get("user").asText(), login.get("password").asText());
        return switch (mechanism) {
            case "PLAIN" -> packages + "plain.PlainLoginModule required " + user + ";";
            case "OAUTHBEARER" -> packages + "oauthbearer.OAuthBearerLoginModule required token=\"" + login.get("token").asText() + "\";";
            default -> packages + "scram.ScramLoginModule required " + user + (login.get("is_delegated").asBoolean() ? " tokenauth=\"true\";" : ";");
        };
    }

    /** Gives the token of the JAAS configuration as it is, good or bad. */
    public static class GivenToken implements AuthenticateCallbackHandler {
        String token;

        public void configure(Map<String, ?> configs, String mechanism, List<AppConfigurationEntry> entries) {
            token = (String) entries.get(0).getOptions().get("token");
        }

        public void handle(Callback[] callbacks) {
            for (Callback each : callbacks)
                if (each instanceof OAuthBearerTokenCallback asked) asked.token(new Token(token));
        }

        public void close() { }
    }

    record Token(String value) implements OAuthBearerToken {
        public Set<String> scope() { return Set.of(); }
        public long lifetimeMs() { return System.currentTimeMillis() + 3_600_000; }
        public String principalName() { return "unknown"; }
        public Long startTimeMs() { return System.currentTimeMillis(); }
    }

    static class Client {
        final Map<String, Object> properties;
        final int patienceMs;
        KafkaProducer<String, String> producer;
        KafkaConsumer<String, String> consumer;

        Client(JsonNode login) throws IOException {
            properties = Logins.properties(login);
            patienceMs = (int) (1000 * login.get("patience_s").asDouble());
        }

        String obey(JsonNode order) {
            try {
                switch (order.get("do").asText()) {
                    case "send" -> send(order.get("topic").asText());
                    case "read" -> { return read(order.get("topic").asText(), order.get("group").asText()); }
                    default -> close();
                }
            } catch (ExecutionException e) {
                return e.getCause().getClass().getSimpleName();
            } catch (Exception e) {
                return e.getClass().getSimpleName();
            }
            return "";
        }

        void send(String topic) throws Exception {
            if (producer == null) {
                Map<String, Object> own = new HashMap<>(properties);
                own.put("max.block.ms", patienceMs);
                producer = new KafkaProducer<>(own, new StringSerializer(), new StringSerializer());
            }
            producer.send(new ProducerRecord<>(topic, "x")).get(patienceMs, TimeUnit.MILLISECONDS);
        }

        String read(String topic, String group) {
            if (consumer == null) {
                Map<String, Object> own = new HashMap<>(properties);
                own.putAll(Map.of("group.id", group, "auto.offset.reset", "earliest"));
                consumer = new KafkaConsumer<>(own, new StringDeserializer(), new StringDeserializer());
                consumer.subscribe(List.of(topic));
            }
            long end = System.currentTimeMillis() + patienceMs;
            while (System.currentTimeMillis() < end)
                if (!consumer.poll(Duration.ofMillis(200)).isEmpty()) return "";
            return "nothing";
        }

        void close() {
            if (consumer != null) consumer.close(Duration.ofSeconds(2));
            if (producer != null) producer.close(Duration.ofSeconds(1));
        }
    }
}
