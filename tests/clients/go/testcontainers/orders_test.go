//go:build containers

// The example of docs/how-to/testcontainers.md: go test -tags containers ./testcontainers
package orders

import (
	"context"
	"testing"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
	"github.com/twmb/franz-go/pkg/kgo"

	"fakebroker.example/stories/fakebroker"
)

// startContainer starts fakebroker in a container, and a broker in it that is reached at a port of this machine.
func startContainer(t *testing.T) *fakebroker.Broker {
	ctx := context.Background()
	container, err := testcontainers.Run(ctx, "fakebroker",
		testcontainers.WithEnv(map[string]string{"FAKEBROKER_CONTROL_TOKEN": "test"}),
		testcontainers.WithExposedPorts("8092/tcp", "19092/tcp"),
		testcontainers.WithWaitStrategy(wait.ForLog("control on")))
	testcontainers.CleanupContainer(t, container)
	if err != nil {
		t.Fatal(err)
	}
	control, err := container.PortEndpoint(ctx, "8092/tcp", "http")
	if err != nil {
		t.Fatal(err)
	}
	address, err := container.PortEndpoint(ctx, "19092/tcp", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("FAKEBROKER_CONTROL_URL", control) // for the helper
	t.Setenv("FAKEBROKER_CONTROL_TOKEN", "test")
	return fakebroker.Start(t, fakebroker.JSON{"listen": "0.0.0.0:19092", "advertise": address})
}

func TestOrders(t *testing.T) {
	broker := startContainer(t)
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.Bootstrap...), kgo.AllowAutoTopicCreation())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	record := &kgo.Record{Topic: "orders", Value: []byte("first")}
	if err := client.ProduceSync(context.Background(), record).FirstErr(); err != nil {
		t.Fatal(err)
	}
	broker.Post("/clock/advance", fakebroker.JSON{"days": 8}, nil)
	var records []fakebroker.JSON
	broker.Get("/topics/orders/records", &records)
	if len(records) != 0 {
		t.Errorf("after eight days the log has %v", records)
	}
}
