// What goes wrong on purpose: an answer that is lost or late, a session that ends.
package stories

import (
	"fmt"
	"testing"

	"fakebroker.example/stories/fakebroker"
)

// Fault is the part of a fault that names it.
type Fault struct {
	ID int `json:"fault_id"`
}

func TestACommitWhoseAnswerIsLostIsRepeated(t *testing.T) {
	t.Parallel()
	broker := fakebroker.Start(t, nil)
	broker.Put("/topics/orders", nil)
	produce(t, broker, "orders", 0, "a", "b", "c")
	var fault Fault
	broker.Post("/faults", fakebroker.JSON{
		"api": "OffsetCommit", "group": "billing", "after": "applied", "action": "disconnect", "times": 1,
	}, &fault)

	reader := startReader(t, broker, "consumer-1", "orders", "billing")
	broker.Post(fmt.Sprintf("/faults/%d/wait", fault.ID), fakebroker.JSON{"hits": 1, "timeout_s": 5}, nil)
	allRead(t, []string{"a", "b", "c"}, reader)
	if kept := offsets(broker, "billing"); kept["orders"]["0"] != 3 {
		t.Errorf("committed is %v", kept)
	}
	var commits []struct {
		IsAnswered bool `json:"is_answered"`
	}
	broker.Get("/journal?api=OffsetCommit", &commits)
	if len(commits) != 2 || commits[0].IsAnswered || !commits[1].IsAnswered {
		t.Errorf("the first of two commits has no answer: %+v", commits)
	}
}

func TestAMemberWhoseSessionHasEndedJoinsAgain(t *testing.T) {
	t.Parallel()
	broker := fakebroker.Start(t, nil)
	broker.Put("/topics/orders", nil)
	produce(t, broker, "orders", 0, "a", "b")
	reader := startReader(t, broker, "consumer-1", "orders", "billing")
	allRead(t, []string{"a", "b"}, reader)
	var group Group
	broker.Get("/groups/billing", &group)

	broker.Post("/groups/billing/evict", fakebroker.JSON{"member": "consumer-1"}, nil)
	next := fakebroker.JSON{"state": "Stable", "generation": group.Generation + 1, "timeout_s": 20}
	broker.Post("/groups/billing/wait", next, nil)

	produce(t, broker, "orders", 0, "c")
	allRead(t, []string{"a", "b", "c"}, reader)
}

func TestAHeartbeatThatIsAnsweredLateDoesNotCostTheMembership(t *testing.T) {
	t.Parallel()
	broker := fakebroker.Start(t, nil)
	broker.Put("/topics/orders", nil)
	reader := startReader(t, broker, "consumer-1", "orders", "billing")
	var fault Fault
	broker.Post("/faults", fakebroker.JSON{
		"api": "Heartbeat", "client_id": "consumer-*", "delay_s": 1, "times": 1,
	}, &fault)
	broker.Post(fmt.Sprintf("/faults/%d/wait", fault.ID), fakebroker.JSON{"hits": 1, "timeout_s": 5}, nil)

	produce(t, broker, "orders", 0, "a")
	allRead(t, []string{"a"}, reader)
	var group Group
	if broker.Get("/groups/billing", &group); group.Generation != 1 {
		t.Errorf("the group is %+v", group)
	}
}
