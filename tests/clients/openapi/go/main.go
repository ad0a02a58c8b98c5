// The control API through a client that oapi-codegen makes of the OpenAPI document.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"fakebroker.example/generated/api"
)

func main() {
	ctx, url := context.Background(), os.Getenv("FAKEBROKER_CONTROL_URL")
	served, err := api.NewClientWithResponses(url)
	check(err)
	nodes, release := int32(3), api.BrokerOptionsAsRelease("3.9")
	made, err := served.PostBrokersWithResponse(ctx, api.BrokerOptions{Nodes: &nodes, AsRelease: &release})
	check(err)
	broker, err := api.NewClientWithResponses(url + "/brokers/" + made.JSON201.BrokerId)
	check(err)

	partitions := int32(2)
	_, err = broker.PutTopicsOneWithResponse(ctx, "orders", api.CreateTopicArguments{Partitions: &partitions})
	check(err)
	var a api.TopicProduceArguments_Values_Item
	check(a.FromTopicProduceArgumentsValues0("a"))
	values := api.TopicProduceArguments{Values: []*api.TopicProduceArguments_Values_Item{&a}}
	produced, err := broker.PostTopicsRecordsWithResponse(ctx, "orders", values)
	check(err)
	expect(produced.JSON200.Offset == 0 && produced.JSON200.Records == 1, produced.Body)

	name, action, times := "OffsetCommit", api.Disconnect, int64(1)
	fault, err := broker.PostFaultsWithResponse(ctx, api.FaultArguments{Api: &name, Action: &action, Times: &times})
	check(err)
	expect(!fault.JSON201.IsExhausted, fault.Body)
	wrong, err := broker.PostTopicsRecordsWithResponse(ctx, "ordrs", values)
	check(err)
	expect(wrong.ApplicationproblemJSON404 != nil, wrong.Body)

	elsewhere, err := served.GetTopicsWithResponse(ctx)
	check(err)
	expect(len(*elsewhere.JSON200) == 0, elsewhere.Body)
	_, err = served.DeleteBrokersOneWithResponse(ctx, made.JSON201.BrokerId)
	check(err)
	fmt.Println("all as described")
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func expect(isTrue bool, answer []byte) {
	if !isTrue {
		log.Fatalf("not as described: %s", answer)
	}
}
