import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;

/** A broker in a container: `bootstrap` is for clients, `post` for its HTTP API. */
public final class Orders extends GenericContainer<Orders> {
    private final HttpClient http = HttpClient.newHttpClient();

    public Orders() {
        super("fakebroker");
        withEnv("FAKEBROKER_CONTROL_TOKEN", "test");
        withExposedPorts(8092, 19092);
        waitingFor(Wait.forLogMessage(".*control on.*", 1));
    }

    /** Start an isolated broker. Returns its bootstrap. */
    public String bootstrap() throws Exception {
        String address = getHost() + ":" + getMappedPort(19092);
        post("/brokers", "{\"listen\": \"0.0.0.0:19092\", \"advertise\": \"%s\"}".formatted(address));
        return address;
    }

    public String post(String path, String body) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://" + getHost() + ":" + getMappedPort(8092) + path))
                .header("Authorization", "Bearer test")
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofString(body))
                .build();
        var answer = http.send(request, BodyHandlers.ofString());
        if (answer.statusCode() >= 300) throw new IllegalStateException(answer.body());
        return answer.body();
    }

    public static void main(String[] arguments) throws Exception {
        try (Orders container = new Orders()) {
            container.start();
            Map<String, Object> settings = Map.of("bootstrap.servers", container.bootstrap());
            try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
                producer.send(new ProducerRecord<>("orders", "first")).get();
            }
            container.post("/brokers/b1/clock/advance", "{\"days\": 8}");
        }
    }
}
