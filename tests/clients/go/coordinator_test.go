// The coordinator of a group goes to another node: in the middle of a rebalance, or because its node stops.
package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fakebroker.example/stories/fakebroker"
)

// Coordinator is the part of GET /coordinators/{group} that the stories look at.
type Coordinator struct {
	NodeID int `json:"node_id"`
}

// Hold is the part of a hold that names it.
type Hold struct {
	ID int `json:"hold_id"`
}

func (g Group) partitions(topic string) (assigned []int) {
	for _, member := range g.Members {
		assigned = append(assigned, member.Assignment[topic]...)
	}
	slices.Sort(assigned)
	return assigned
}

func TestTheCoordinatorMovesInTheMiddleOfARebalance(t *testing.T) {
	t.Parallel()
	broker := fakebroker.Start(t, fakebroker.JSON{"nodes": 3})
	broker.Put("/topics/orders", fakebroker.JSON{"partitions": 4})
	first := startReader(t, broker, "consumer-1", "orders", "billing")
	broker.Post("/groups/billing/wait", fakebroker.JSON{"assigned": true, "members": 1, "timeout_s": 5}, nil)
	var before, after Coordinator
	broker.Get("/coordinators/billing", &before)
	to := 2
	if before.NodeID == to {
		to = 3
	}

	// The rebalance stays where it is, with both members waiting, until the coordinator has moved.
	var hold Hold
	broker.Post("/groups/billing/hold_joins", nil, &hold)
	second := startReader(t, broker, "consumer-2", "orders", "billing")
	broker.Post("/groups/billing/wait", fakebroker.JSON{"joined": 2, "timeout_s": 10}, nil)
	broker.Post("/coordinators/billing/move", fakebroker.JSON{"to": to}, nil)
	broker.Post(fmt.Sprintf("/groups/billing/holds/%d/release", hold.ID), nil, nil)

	// Cooperative members rebalance twice: to give partitions up, and to hand them out. Then all are assigned some.
	var group Group
	broker.Post("/groups/billing/wait", fakebroker.JSON{"assigned": true, "members": 2, "timeout_s": 20}, &group)
	if broker.Get("/coordinators/billing", &after); after.NodeID != to {
		t.Errorf("the coordinator is on %d, not on %d", after.NodeID, to)
	}
	if assigned := group.partitions("orders"); !slices.Equal(assigned, []int{0, 1, 2, 3}) {
		t.Errorf("assigned are %v: %+v", assigned, group)
	}
	for partition := range int32(4) {
		produce(t, broker, "orders", partition, string("abcd"[partition]))
	}
	allRead(t, []string{"a", "b", "c", "d"}, first, second)
}

func TestConsumersThatStartTogetherGetOneRebalance(t *testing.T) {
	t.Parallel()
	broker := fakebroker.Start(t, nil)
	broker.Put("/topics/orders", fakebroker.JSON{"partitions": 4})
	broker.Post("/groups/billing/hold_joins", fakebroker.JSON{"until_members": 2, "leader": "consumer-2"}, nil)

	startReader(t, broker, "consumer-1", "orders", "billing")
	startReader(t, broker, "consumer-2", "orders", "billing")

	var group Group
	broker.Post("/groups/billing/wait", fakebroker.JSON{"assigned": true, "members": 2, "timeout_s": 10}, &group)
	if group.Generation != 1 || !strings.HasPrefix(group.Leader, "consumer-2-") {
		t.Errorf("the group is %+v", group)
	}
	if assigned := group.partitions("orders"); !slices.Equal(assigned, []int{0, 1, 2, 3}) {
		t.Errorf("assigned are %v: %+v", assigned, group)
	}
}

func TestWhenTheNodeOfTheCoordinatorStopsTheConsumersGoOn(t *testing.T) {
	t.Parallel()
	broker := fakebroker.Start(t, fakebroker.JSON{"nodes": 3})
	broker.Put("/topics/orders", fakebroker.JSON{"partitions": 4, "replication_factor": 3})
	first := startReader(t, broker, "consumer-1", "orders", "billing")
	second := startReader(t, broker, "consumer-2", "orders", "billing")
	broker.Post("/groups/billing/wait", fakebroker.JSON{"assigned": true, "members": 2, "timeout_s": 10}, nil)
	var before, after Coordinator
	broker.Get("/coordinators/billing", &before)

	broker.Post(fmt.Sprintf("/nodes/%d/stop", before.NodeID), nil, nil)
	for partition := range int32(4) {
		produce(t, broker, "orders", partition, string("abcd"[partition]))
	}

	allRead(t, []string{"a", "b", "c", "d"}, first, second)
	if broker.Get("/coordinators/billing", &after); after.NodeID == before.NodeID {
		t.Errorf("the coordinator is still on node %d", after.NodeID)
	}
}
