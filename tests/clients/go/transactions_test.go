// Transactions: a copier that dies in the middle of one, its successor, and what readers of committed records see.
package stories

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"fakebroker.example/stories/fakebroker"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// copier makes a session that reads "in" as a member of a group, and writes "out" in the transactions of an id.
func copier(t *testing.T, broker *fakebroker.Broker) *kgo.GroupTransactSession {
	t.Helper()
	made, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(broker.Bootstrap...),
		kgo.TransactionalID("copier"),
		kgo.ConsumerGroup("copiers"),
		kgo.ConsumeTopics("in"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RequireStableFetchOffsets(),
		kgo.HeartbeatInterval(500*time.Millisecond),
		kgo.FetchMaxWait(200*time.Millisecond),
	)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// copySome begins a transaction, and writes in it what it polls; it returns how many records that were.
func copySome(t *testing.T, session *kgo.GroupTransactSession) int {
	t.Helper()
	fetches := session.PollRecords(t.Context(), 40)
	if err := session.Begin(); err != nil {
		t.Fatal(err)
	}
	fetches.EachRecord(func(record *kgo.Record) {
		session.Produce(t.Context(), &kgo.Record{Topic: "out", Value: record.Value}, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Error(err)
			}
		})
	})
	if err := session.Client().Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return fetches.NumRecords()
}

// committed reads values of committed records until there are so many, and what else comes in the next moment.
func committed(t *testing.T, broker *fakebroker.Broker, topic string, count int) (values []string) {
	t.Helper()
	reader := client(t, broker, "reader", kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	for wait := 20 * time.Second; ; {
		polling, cancel := context.WithTimeout(t.Context(), wait)
		fetches := reader.PollFetches(polling)
		cancel()
		fetches.EachRecord(func(record *kgo.Record) { values = append(values, string(record.Value)) })
		if fetches.Empty() || fetches.Err0() != nil {
			return values
		}
		if len(values) >= count {
			wait = 500 * time.Millisecond
		}
	}
}

func TestEachRecordIsCopiedExactlyOnce(t *testing.T) {
	t.Parallel()
	broker := fakebroker.Start(t, nil)
	broker.Put("/topics/in", fakebroker.JSON{"partitions": 2})
	broker.Put("/topics/out", fakebroker.JSON{"partitions": 2})
	copiesExactlyOnce(t, broker)
}

func copiesExactlyOnce(t *testing.T, broker *fakebroker.Broker) {
	var wanted []string
	for n := range 200 {
		wanted = append(wanted, fmt.Sprintf("value %03d", n))
	}
	produce(t, broker, "in", 0, wanted[:100]...)
	produce(t, broker, "in", 1, wanted[100:]...)

	dies := copier(t, broker)
	copied := copySome(t, dies)
	if ok, err := dies.End(t.Context(), kgo.TryCommit); !ok || err != nil {
		t.Fatal(ok, err)
	}
	copySome(t, dies)
	dies.Close() // it leaves the group, and its transaction as it is

	last := copier(t, broker)
	defer last.Close()
	for n := 0; copied < 200; n++ {
		count := copySome(t, last)
		ok, err := last.End(t.Context(), kgo.TransactionEndTry(n != 1)) // the second one is aborted
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			copied += count
		}
	}

	values := committed(t, broker, "out", 200)
	if slices.Sort(values); !slices.Equal(values, wanted) {
		t.Fatalf("read %d values: %v", len(values), values)
	}
}

func TestAProducerThatWasReplacedIsFenced(t *testing.T) {
	t.Parallel()
	broker := fakebroker.Start(t, nil)
	broker.Put("/topics/out", fakebroker.JSON{"partitions": 1})
	isFenced(t, broker)
}

func isFenced(t *testing.T, broker *fakebroker.Broker) {
	begin := func(value string) *kgo.Client {
		producer := client(t, broker, value, kgo.TransactionalID("payments"))
		if err := producer.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := producer.ProduceSync(t.Context(), &kgo.Record{Topic: "out", Value: []byte(value)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		return producer
	}
	old, young := begin("old"), begin("young")

	err := old.EndTransaction(t.Context(), kgo.TryCommit)
	if !errors.Is(err, kerr.ProducerFenced) && !errors.Is(err, kerr.InvalidProducerEpoch) {
		t.Errorf("the old one's commit: %v", err)
	}
	if err := young.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
		t.Error(err)
	}
	if values := committed(t, broker, "out", 1); !slices.Equal(values, []string{"young"}) {
		t.Errorf("committed is %v", values)
	}
}
