// Time: eight days pass in a millisecond, under clients that stay connected.
package stories

import (
	"slices"
	"testing"

	"fakebroker.example/stories/fakebroker"
	"github.com/twmb/franz-go/pkg/kgo"
)

var keptForEver = fakebroker.JSON{"retention.ms": "-1"}

// Explained is the part of an entry of GET /groups/{group}/explain that the stories look at.
type Explained struct {
	Offset  int
	Expired bool
	Rule    string
}

func offsets(broker *fakebroker.Broker, name string) map[string]map[string]int {
	var group Group
	broker.Get("/groups/"+name, &group)
	return group.Offsets
}

func TestAConnectedConsumerKeepsItsOffsetsAndAStoppedOneIsReset(t *testing.T) {
	t.Parallel()
	broker := fakebroker.Start(t, nil)
	broker.Put("/topics/orders", fakebroker.JSON{"config": keptForEver})
	produce(t, broker, "orders", 0, "a", "b", "c")
	reader := startReader(t, broker, "consumer-1", "orders", "billing")
	allRead(t, []string{"a", "b", "c"}, reader)
	var before, after Group
	broker.Get("/groups/billing", &before)

	broker.Post("/clock/advance", fakebroker.JSON{"days": 8}, nil)

	produce(t, broker, "orders", 0, "d")
	allRead(t, []string{"a", "b", "c", "d"}, reader)
	broker.Get("/groups/billing", &after)
	if after.State != "Stable" || after.Generation != before.Generation {
		t.Errorf("nobody had to rejoin, but the group was %+v and is %+v", before, after)
	}

	reader.stop()
	broker.Post("/groups/billing/wait", fakebroker.JSON{"state": "Empty", "timeout_s": 5}, nil)
	if kept := offsets(broker, "billing"); kept["orders"]["0"] != 4 {
		t.Errorf("the group that is just Empty has %v", kept)
	}
	broker.Post("/clock/advance", fakebroker.JSON{"days": 8}, nil)
	var explained struct{ Offsets []Explained }
	broker.Get("/groups/billing/explain", &explained)
	if lost := (Explained{Offset: 4, Expired: true, Rule: "EX-3"}); !slices.Equal(explained.Offsets, []Explained{lost}) {
		t.Errorf("after eight days without members: %+v", explained)
	}
	broker.Post("/groups/billing/wait", fakebroker.JSON{"state": "Dead", "timeout_s": 5}, nil)
	again := startReader(t, broker, "consumer-2", "orders", "billing")
	allRead(t, []string{"a", "b", "c", "d"}, again)
}

func TestATopicThatAConnectedConsumerReadsNoLongerIsResetWhenItComesBack(t *testing.T) {
	t.Parallel()
	broker := fakebroker.Start(t, nil)
	broker.Put("/topics/orders", fakebroker.JSON{"config": keptForEver})
	broker.Put("/topics/audit", fakebroker.JSON{"config": keptForEver})
	produce(t, broker, "orders", 0, "a")
	produce(t, broker, "audit", 0, "x", "y")
	reader := startReader(t, broker, "consumer-1", "orders", "billing", kgo.ConsumeTopics("orders", "audit"))
	allRead(t, []string{"a", "x", "y"}, reader)

	reader.PurgeTopicsFromConsuming("audit")
	broker.Post("/groups/billing/wait", fakebroker.JSON{"generation": 2, "assigned": true, "timeout_s": 5}, nil)
	broker.Post("/clock/advance", fakebroker.JSON{"days": 8}, nil)
	if kept := offsets(broker, "billing"); len(kept) != 1 || kept["orders"]["0"] != 1 {
		t.Errorf("after eight days the group of a consumer of orders has %v", kept)
	}

	reader.AddConsumeTopics("audit")
	allRead(t, []string{"a", "x", "x", "y", "y"}, reader)
}

func TestBeforeKafka21AConnectedConsumerLostItsOffsetsToo(t *testing.T) {
	t.Parallel()
	broker := fakebroker.Start(t, fakebroker.JSON{"config": fakebroker.JSON{"fakebroker.expiry.policy": "2.0"}})
	broker.Put("/topics/orders", fakebroker.JSON{"partitions": 2, "config": keptForEver})
	produce(t, broker, "orders", 0, "a", "b")
	produce(t, broker, "orders", 1, "c")
	first := startReader(t, broker, "consumer-1", "orders", "billing", kgo.Balancers(kgo.RangeBalancer()))
	allRead(t, []string{"a", "b", "c"}, first)

	broker.Post("/clock/advance", fakebroker.JSON{"days": 8}, nil)
	if kept := offsets(broker, "billing"); len(kept) != 0 {
		t.Errorf("the group with a member has %v", kept)
	}
	second := startReader(t, broker, "consumer-2", "orders", "billing", kgo.Balancers(kgo.RangeBalancer()))
	allRead(t, []string{"a", "a", "b", "b", "c", "c"}, first, second)
}
