package stories

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"fakebroker.example/stories/fakebroker"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Group is the part of GET /groups/{group} that the stories look at.
type Group struct {
	State      string
	Generation int
	Leader     string
	Offsets    map[string]map[string]int // by topic and partition
	Members    []struct {
		ClientID   string `json:"client_id"`
		Assignment map[string][]int
	}
}

func client(t *testing.T, broker *fakebroker.Broker, clientID string, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	// Shorter than franz-go's own times, so that a story takes a second.
	quick := []kgo.Opt{
		kgo.SeedBrokers(broker.Bootstrap...),
		kgo.ClientID(clientID),
		kgo.HeartbeatInterval(500 * time.Millisecond),
		kgo.FetchMaxWait(200 * time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }),
	}
	made, err := kgo.NewClient(append(quick, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Close)
	return made
}

// produce sends values to one partition of a topic, a record each.
func produce(t *testing.T, broker *fakebroker.Broker, topic string, partition int32, values ...string) {
	t.Helper()
	producer := client(t, broker, "producer", kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for _, value := range values {
		record := &kgo.Record{Topic: topic, Partition: partition, Value: []byte(value)}
		if err := producer.ProduceSync(t.Context(), record).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// reader reads in the background, keeps the values, and commits what it read.
type reader struct {
	*kgo.Client
	stop   func()
	mutex  sync.Mutex
	values []string
}

// startReader starts a member of a group; its reset policy is the beginning. It leaves when the test is over, or by stop.
func startReader(t *testing.T, broker *fakebroker.Broker, clientID, topic, group string, options ...kgo.Opt) *reader {
	t.Helper()
	defaults := []kgo.Opt{
		kgo.ConsumeTopics(topic),
		kgo.ConsumerGroup(group),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
	}
	r := &reader{Client: client(t, broker, clientID, append(defaults, options...)...)}
	running, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	r.stop = sync.OnceFunc(func() {
		cancel()
		<-done
		r.Close()
	})
	t.Cleanup(r.stop)
	go func() {
		defer close(done)
		for running.Err() == nil {
			r.readAndCommit(running)
		}
	}()
	return r
}

func (r *reader) readAndCommit(ctx context.Context) {
	defer r.AllowRebalance()
	fetches := r.PollFetches(ctx)
	if fetches.Empty() || r.CommitUncommittedOffsets(ctx) != nil {
		return // a rebalance overtook the commit: the records come again
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	fetches.EachRecord(func(record *kgo.Record) { r.values = append(r.values, string(record.Value)) })
}

// read gives what was read so far.
func (r *reader) read() []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.Clone(r.values)
}

// allRead waits until the readers have read just these values, all of them together, in any order.
func allRead(t *testing.T, wanted []string, readers ...*reader) {
	t.Helper()
	var values []string
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		values = nil
		for _, r := range readers {
			values = append(values, r.read()...)
		}
		if slices.Sort(values); slices.Equal(values, wanted) {
			return
		}
	}
	t.Fatalf("read %v, not %v", values, wanted)
}
