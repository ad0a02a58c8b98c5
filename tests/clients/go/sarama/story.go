package main

import (
	"context"
	"errors"
	"log"
	"strconv"
	"time"

	"github.com/IBM/sarama"
)

const pollRecords = 500

// Record is a record on its way in or out.
type Record struct {
	Partition   int32       `json:"partition"`
	Key         string      `json:"key"`
	Value       string      `json:"value"`
	Headers     [][2]string `json:"headers"`
	TimestampMs int64       `json:"timestamp_ms"`
}

var codecs = map[string]sarama.CompressionCodec{
	"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
	"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
}

func strategy(name string) sarama.BalanceStrategy {
	switch name {
	case "range":
		return sarama.NewBalanceStrategyRange()
	case "roundrobin":
		return sarama.NewBalanceStrategyRoundRobin()
	case "sticky":
		return sarama.NewBalanceStrategySticky()
	case "cooperative-sticky":
		return sarama.NewBalanceStrategyCooperativeSticky()
	}
	panic("no strategy is known as " + name)
}

func messages(order Order) []*sarama.ProducerMessage {
	var made []*sarama.ProducerMessage
	for _, each := range order.Records {
		message := &sarama.ProducerMessage{
			Topic: order.Topic, Partition: each.Partition, Timestamp: time.UnixMilli(each.TimestampMs),
			Key: sarama.StringEncoder(each.Key), Value: sarama.StringEncoder(each.Value),
		}
		for _, header := range each.Headers {
			message.Headers = append(message.Headers, sarama.RecordHeader{Key: []byte(header[0]), Value: []byte(header[1])})
		}
		made = append(made, message)
	}
	return made
}

func (c *client) produce(order Order) error {
	config := c.config()
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Compression = codecs[order.Codec]
	producer, err := sarama.NewSyncProducer([]string{c.login.Bootstrap}, config)
	if err != nil {
		return err
	}
	return errors.Join(producer.SendMessages(messages(order)), producer.Close())
}

func (c *client) transaction(order Order) error {
	config := c.config()
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Idempotent, config.Net.MaxOpenRequests = true, 1
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Transaction.ID = order.TransactionalID
	producer, err := sarama.NewSyncProducer([]string{c.login.Bootstrap}, config)
	if err != nil {
		return err
	}
	defer producer.Close()
	if err := producer.BeginTxn(); err != nil {
		return err
	}
	if err := producer.SendMessages(messages(order)); err != nil {
		return err
	}
	if order.Commit {
		return producer.CommitTxn()
	}
	return producer.AbortTxn()
}

func (c *client) offsets(order Order) ([]*int64, error) {
	asking, err := sarama.NewClient([]string{c.login.Bootstrap}, c.config())
	if err != nil {
		return nil, err
	}
	defer asking.Close()
	found := make([]*int64, order.Partitions)
	for partition := range order.Partitions {
		offset, err := asking.GetOffset(order.Topic, partition, order.TimestampMs)
		if err != nil {
			return nil, err
		}
		if offset >= 0 {
			found[partition] = &offset
		}
	}
	return found, nil
}

// reader is a member of a group. What it is handed waits until it is polled.
type reader struct {
	group   sarama.ConsumerGroup
	handed  chan handed
	errors  chan error
	end     context.CancelFunc
	ended   chan struct{}
	session sarama.ConsumerGroupSession // of what was polled last
}

type handed struct {
	session sarama.ConsumerGroupSession
	message *sarama.ConsumerMessage
}

func (c *client) subscribe(topic, group string, settings map[string]string) error {
	config := c.config()
	for name, value := range settings {
		switch name {
		case "auto.offset.reset":
			if value == "latest" {
				config.Consumer.Offsets.Initial = sarama.OffsetNewest
			}
		case "session.timeout.ms":
			config.Consumer.Group.Session.Timeout = milliseconds(value)
		case "heartbeat.interval.ms":
			config.Consumer.Group.Heartbeat.Interval = milliseconds(value)
		case "group.instance.id":
			config.Consumer.Group.InstanceId = value
		case "partition.assignment.strategy":
			config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{strategy(value)}
		case "isolation.level":
			if value == "read_committed" {
				config.Consumer.IsolationLevel = sarama.ReadCommitted
			}
		default:
			panic("no option is known for " + name)
		}
	}
	made, err := sarama.NewConsumerGroup([]string{c.login.Bootstrap}, group, config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.reader = &reader{group: made, handed: make(chan handed), errors: make(chan error, 100), end: cancel, ended: make(chan struct{})}
	go c.reader.consume(ctx, topic)
	go c.reader.listen()
	return nil
}

func milliseconds(text string) time.Duration {
	return time.Duration(must(strconv.Atoi(text))) * time.Millisecond
}

func (r *reader) consume(ctx context.Context, topic string) {
	defer close(r.ended)
	for ctx.Err() == nil {
		if err := r.group.Consume(ctx, []string{topic}, r); err != nil && ctx.Err() == nil {
			r.errors <- err
			return
		}
	}
}

// listen takes the errors of a life that goes on: sarama tries again, except what is not allowed.
func (r *reader) listen() {
	for err := range r.group.Errors() {
		log.Print(err)
		if errors.Is(err, sarama.ErrTopicAuthorizationFailed) || errors.Is(err, sarama.ErrGroupAuthorizationFailed) {
			r.errors <- err
		}
	}
}

// Setup is part of sarama.ConsumerGroupHandler.
func (r *reader) Setup(sarama.ConsumerGroupSession) error { return nil }

// Cleanup is part of sarama.ConsumerGroupHandler.
func (r *reader) Cleanup(sarama.ConsumerGroupSession) error { return nil }

// ConsumeClaim hands out what it gets until the partition is taken away.
func (r *reader) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		select {
		case r.handed <- handed{session, message}:
		case <-session.Context().Done():
			return nil
		}
	}
	return nil
}

// poll waits so long for records, and for the rest of those that are there.
func (r *reader) poll(wait time.Duration) ([]Record, error) {
	var found []Record
	timer := time.NewTimer(wait)
	for len(found) < pollRecords {
		select {
		case err := <-r.errors:
			return nil, err
		case next := <-r.handed:
			next.session.MarkMessage(next.message, "")
			r.session = next.session
			found = append(found, record(next.message))
		case <-timer.C:
			return found, nil
		}
	}
	return found, nil
}

func record(message *sarama.ConsumerMessage) Record {
	made := Record{message.Partition, string(message.Key), string(message.Value), [][2]string{}, message.Timestamp.UnixMilli()}
	for _, header := range message.Headers {
		made.Headers = append(made.Headers, [2]string{string(header.Key), string(header.Value)})
	}
	return made
}

// commit commits what was polled; what a rebalance was faster with comes again.
func (r *reader) commit() {
	if r.session != nil {
		r.session.Commit()
	}
}

func (r *reader) close() {
	r.end()
	if err := r.group.Close(); err != nil {
		log.Print(err)
	}
	<-r.ended
}
