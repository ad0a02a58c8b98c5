// A client of franz-go that produces, reads as a member of a group, asks for offsets and makes transactions as it is
// told: see tests/clients/programs.py for the lines in and out.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const patience = 60 * time.Second

// Record is a record on its way in or out.
type Record struct {
	Partition   int32       `json:"partition"`
	Key         string      `json:"key"`
	Value       string      `json:"value"`
	Headers     [][2]string `json:"headers"`
	TimestampMs int64       `json:"timestamp_ms"`
}

// Order is one line.
type Order struct {
	Do, Topic, Group, Codec string
	Login                   *struct{ Bootstrap string }
	TransactionalID         string `json:"transactional_id"`
	Commit                  bool
	Partitions              int32
	TimestampMs             int64 `json:"timestamp_ms"`
	Settings                map[string]string
	Records                 []Record
}

// Answer is the line for it.
type Answer struct {
	Outcome string   `json:"outcome"`
	Records []Record `json:"records,omitempty"`
	Offsets []*int64 `json:"offsets,omitempty"`
}

var codecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}
var balancers = map[string]kgo.GroupBalancer{
	"range": kgo.RangeBalancer(), "roundrobin": kgo.RoundRobinBalancer(),
	"sticky": kgo.StickyBalancer(), "cooperative-sticky": kgo.CooperativeStickyBalancer(),
}

var (
	bootstrap string
	consumer  *kgo.Client
	polled    []*kgo.Record // since the last commit
)

func connected(options ...kgo.Opt) *kgo.Client {
	client, err := kgo.NewClient(append(options, kgo.SeedBrokers(bootstrap), kgo.FetchMaxWait(200*time.Millisecond))...)
	if err != nil {
		panic(err)
	}
	return client
}

func produce(ctx context.Context, client *kgo.Client, order Order) error {
	var records []*kgo.Record
	for _, each := range order.Records {
		made := &kgo.Record{
			Topic: order.Topic, Partition: each.Partition, Key: []byte(each.Key), Value: []byte(each.Value),
			Timestamp: time.UnixMilli(each.TimestampMs),
		}
		for _, header := range each.Headers {
			made.Headers = append(made.Headers, kgo.RecordHeader{Key: header[0], Value: []byte(header[1])})
		}
		records = append(records, made)
	}
	return client.ProduceSync(ctx, records...).FirstErr()
}

func transaction(ctx context.Context, order Order) error {
	client := connected(kgo.TransactionalID(order.TransactionalID), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer client.Close()
	if err := client.BeginTransaction(); err != nil {
		return err
	}
	if err := produce(ctx, client, order); err != nil {
		return err
	}
	return client.EndTransaction(ctx, kgo.TransactionEndTry(order.Commit))
}

func offsets(ctx context.Context, order Order) ([]*int64, error) {
	client := connected()
	defer client.Close()
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = order.Topic
	for number := range order.Partitions {
		partition := kmsg.NewListOffsetsRequestTopicPartition()
		partition.Partition, partition.Timestamp = number, order.TimestampMs
		topic.Partitions = append(topic.Partitions, partition)
	}
	request := kmsg.NewPtrListOffsetsRequest()
	request.ReplicaID, request.Topics = -1, []kmsg.ListOffsetsRequestTopic{topic}
	answer, err := request.RequestWith(ctx, client)
	if err != nil {
		return nil, err
	}
	found := make([]*int64, order.Partitions)
	for _, each := range answer.Topics[0].Partitions {
		if err := kerr.ErrorForCode(each.ErrorCode); err != nil {
			return nil, err
		}
		if each.Offset >= 0 {
			found[each.Partition] = &each.Offset
		}
	}
	return found, nil
}

func subscribe(order Order) {
	reset := kgo.NewOffset().AtStart()
	if order.Settings["auto.offset.reset"] == "latest" {
		reset = kgo.NewOffset().AtEnd()
	}
	options := []kgo.Opt{
		kgo.ConsumerGroup(order.Group), kgo.ConsumeTopics(order.Topic), kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(reset),
	}
	for name, value := range order.Settings {
		switch name {
		case "auto.offset.reset":
		case "session.timeout.ms":
			options = append(options, kgo.SessionTimeout(milliseconds(value)))
		case "heartbeat.interval.ms":
			options = append(options, kgo.HeartbeatInterval(milliseconds(value)))
		case "group.instance.id":
			options = append(options, kgo.InstanceID(value))
		case "partition.assignment.strategy":
			options = append(options, kgo.Balancers(balancers[value]))
		case "isolation.level":
			if value == "read_committed" {
				options = append(options, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
			}
		case "group.protocol":
			options = append(options, kgo.ServerSideBalancer())
		default:
			panic("no option is known for " + name)
		}
	}
	consumer = connected(options...)
}

func milliseconds(text string) time.Duration {
	value, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return time.Duration(value) * time.Millisecond
}

func poll() ([]Record, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	fetches := consumer.PollRecords(ctx, 500)
	for _, each := range fetches.Errors() {
		if !errors.Is(each.Err, context.DeadlineExceeded) {
			return nil, each.Err
		}
	}
	var found []Record
	for _, each := range fetches.Records() {
		made := Record{each.Partition, string(each.Key), string(each.Value), [][2]string{}, each.Timestamp.UnixMilli()}
		for _, header := range each.Headers {
			made.Headers = append(made.Headers, [2]string{header.Key, string(header.Value)})
		}
		polled = append(polled, each)
		found = append(found, made)
	}
	return found, nil
}

// commit commits what was polled; what a rebalance was faster with comes again.
func commit(ctx context.Context) {
	if err := consumer.CommitRecords(ctx, polled...); err != nil {
		fmt.Fprintln(os.Stderr, "commit:", err)
	}
	polled = nil
}

func obey(order Order) (answer Answer, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	switch order.Do {
	case "produce":
		client := connected(
			kgo.ProducerBatchCompression(codecs[order.Codec]), kgo.RecordPartitioner(kgo.ManualPartitioner()),
			kgo.ProducerLinger(5*time.Millisecond),
		)
		defer client.Close()
		err = produce(ctx, client, order)
	case "transaction":
		err = transaction(ctx, order)
	case "offsets":
		answer.Offsets, err = offsets(ctx, order)
	case "subscribe":
		subscribe(order)
	case "poll":
		answer.Records, err = poll()
	case "commit":
		commit(ctx)
	case "close":
		if consumer != nil {
			consumer.Close()
		}
	}
	return answer, err
}

func main() {
	orders, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var order Order
		if orders.Decode(&order) != nil {
			return
		}
		if order.Login != nil {
			bootstrap = order.Login.Bootstrap
		}
		answer, err := obey(order)
		if err != nil {
			answer.Outcome = err.Error()
		}
		if answers.Encode(answer) != nil {
			return
		}
	}
}
