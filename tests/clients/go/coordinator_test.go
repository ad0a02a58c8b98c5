// The coordinator of a group moves to another node while the group rebalances.
package stories

import (
	"slices"
	"testing"
	"time"

	"fakebroker.example/stories/fakebroker"
	"github.com/twmb/franz-go/pkg/kgo"
)

type Coordinator struct {
	NodeID int `json:"node_id"`
}

func TestTheCoordinatorMovesInTheMiddleOfARebalance(t *testing.T) {
	broker := fakebroker.Start(t, fakebroker.JSON{"nodes": 3})
	broker.Put("/topics/orders", fakebroker.JSON{"partitions": 4})
	first := startReader(t, broker, "consumer-1", "orders", "billing", kgo.HeartbeatInterval(time.Second))
	broker.Post("/groups/billing/wait", fakebroker.JSON{"state": "Stable", "members": 1, "timeout_s": 5}, nil)
	var before, after Coordinator
	broker.Get("/coordinators/billing", &before)
	to := 2
	if before.NodeID == to {
		to = 3
	}

	var group Group
	second := startReader(t, broker, "consumer-2", "orders", "billing")
	broker.Post("/groups/billing/wait", fakebroker.JSON{"state": "PreparingRebalance", "timeout_s": 5}, nil)
	broker.Post("/coordinators/billing/move", fakebroker.JSON{"to": to}, nil)

	// Cooperative members rebalance twice: one to give partitions up, one to hand them out.
	broker.Post("/groups/billing/wait", fakebroker.JSON{"state": "Stable", "members": 2, "generation": 3, "timeout_s": 20}, &group)
	for partition := range int32(4) {
		produce(t, broker, "orders", partition, string("abcd"[partition]))
	}
	allRead(t, []string{"a", "b", "c", "d"}, first, second)
	if broker.Get("/coordinators/billing", &after); after.NodeID != to {
		t.Errorf("the coordinator is on %d, not on %d", after.NodeID, to)
	}
	var assigned []int
	for _, member := range group.Members {
		assigned = append(assigned, member.Assignment["orders"]...)
	}
	if slices.Sort(assigned); !slices.Equal(assigned, []int{0, 1, 2, 3}) {
		t.Errorf("assigned are %v: %+v", assigned, group)
	}
}
