// Group members of franz-go that do what they are told: see tests/clients/java/Members.java for commands and events.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const poll = 100 * time.Millisecond

var voice sync.Mutex

// say prints an event as a whole.
func say(format string, values ...any) {
	voice.Lock()
	defer voice.Unlock()
	fmt.Printf(format+"\n", values...)
}

type order struct {
	status kgo.AckStatus
	count  int
}

type member struct {
	name     string
	stopping chan struct{}
	orders   chan order
	mutex    sync.Mutex
	assigned map[string]bool
	refusal  atomic.Value // the error, as text, of the last acknowledgement that was refused
}

// changed takes partitions in or out of the assignment, and tells of it.
func (m *member) changed(partitions map[string][]int32, in bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	isNews := false
	for topic, numbers := range partitions {
		for _, number := range numbers {
			name := fmt.Sprintf("%s-%d", topic, number)
			isNews = isNews || m.assigned[name] != in
			if in {
				m.assigned[name] = true
			} else {
				delete(m.assigned, name)
			}
		}
	}
	if !isNews {
		return
	}
	words := []string{m.name, "assigned"}
	for name := range m.assigned {
		words = append(words, name)
	}
	slices.Sort(words[2:])
	say("%s", strings.Join(words, " "))
}

func (m *member) stopped() bool {
	select {
	case <-m.stopping:
		return true
	default:
		return false
	}
}

// options are the settings of the Java client in franz-go's words.
func (m *member) options(bootstrap, kind string, settings map[string]string) []kgo.Opt {
	options := []kgo.Opt{kgo.SeedBrokers(strings.Split(bootstrap, ",")...), kgo.FetchMaxWait(200 * time.Millisecond)}
	for name, value := range settings {
		switch name {
		case "topics":
			options = append(options, kgo.ConsumeTopics(strings.Split(value, ",")...))
		case "pattern":
			options = append(options, kgo.ConsumeRegex(), kgo.ConsumeTopics("^"+value+"$"))
		case "client.id":
			options = append(options, kgo.ClientID(value))
		case "group.id":
			if kind == "share" {
				options = append(options, kgo.ShareGroup(value))
			} else {
				options = append(options, kgo.ConsumerGroup(value))
			}
		case "group.protocol":
			if value == "consumer" {
				options = append(options, kgo.ServerSideBalancer())
			}
		case "group.remote.assignor":
			if value == "range" {
				options = append(options, kgo.Balancers(kgo.RangeBalancer()))
			}
		case "group.instance.id":
			options = append(options, kgo.InstanceID(value))
		case "session.timeout.ms":
			options = append(options, kgo.SessionTimeout(milliseconds(value)))
		case "heartbeat.interval.ms":
			options = append(options, kgo.HeartbeatInterval(milliseconds(value)))
		case "max.poll.records":
			options = append(options, kgo.ShareMaxRecords(int32(number(value))), kgo.ShareMaxRecordsStrict())
		case "fetch.max.bytes":
			options = append(options, kgo.FetchMaxBytes(int32(number(value))))
		case "share.acknowledgement.mode": // a matter of how Poll is called
		default:
			panic("no option is known for " + name)
		}
	}
	if kind == "share" {
		return append(options, kgo.ShareAckCallback(func(_ *kgo.Client, results kgo.ShareAckResults) {
			if err := results.Error(); err != nil {
				m.refusal.Store(err.Error())
			}
		}))
	}
	return append(options,
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, added map[string][]int32) { m.changed(added, true) }),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, gone map[string][]int32) { m.changed(gone, false) }),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, gone map[string][]int32) { m.changed(gone, false) }))
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return value
}

func milliseconds(text string) time.Duration { return time.Duration(number(text)) * time.Millisecond }

// polled are the records of one poll.
func (m *member) polled(client *kgo.Client) []*kgo.Record {
	ctx, cancel := context.WithTimeout(context.Background(), poll)
	defer cancel()
	return client.PollFetches(ctx).Records()
}

func (m *member) told(record *kgo.Record, deliveries int32) {
	say("%s read %s-%d %d %d %s", m.name, record.Topic, record.Partition, record.Offset, deliveries, record.Value)
}

// read polls, and commits after each poll; what a rebalance was faster with comes again.
func (m *member) read(client *kgo.Client) {
	for !m.stopped() {
		records := m.polled(client)
		if len(records) == 0 {
			continue
		}
		if err := client.CommitRecords(context.Background(), records...); err != nil {
			fmt.Fprintln(os.Stderr, m.name, "commit:", err)
		}
		for _, record := range records {
			m.told(record, 0)
		}
	}
}

// share polls; with explicit acknowledgement it holds what it read until it is told what to answer.
func (m *member) share(client *kgo.Client, explicit bool) {
	var held []*kgo.Record
	for !m.stopped() {
		select {
		case next := <-m.orders:
			for _, record := range held[:next.count] {
				record.Ack(next.status)
			}
			if next.status != kgo.AckRenew { // what is renewed is still held
				held = held[next.count:]
			}
			m.refusal.Store("")
			if err := client.FlushAcks(context.Background()); err != nil {
				panic(err)
			}
			if refusal := m.refusal.Load(); refusal != "" {
				say("%s refused %v", m.name, refusal)
			} else {
				say("%s acknowledged %d", m.name, next.count)
			}
			continue
		default:
		}
		if len(held) > 0 { // the next poll would accept them
			time.Sleep(20 * time.Millisecond)
			continue
		}
		for _, record := range m.polled(client) {
			if explicit {
				held = append(held, record)
			}
			m.told(record, record.DeliveryCount())
		}
	}
}

func (m *member) live(bootstrap, kind string, settings map[string]string) {
	client, err := kgo.NewClient(m.options(bootstrap, kind, settings)...)
	if err != nil {
		say("%s failed %v", m.name, err)
		return
	}
	if kind == "share" {
		m.share(client, settings["share.acknowledgement.mode"] == "explicit")
	} else {
		m.read(client)
	}
	client.Close()
	say("%s stopped", m.name)
}

var statuses = map[string]kgo.AckStatus{
	"ACCEPT": kgo.AckAccept, "RELEASE": kgo.AckRelease, "REJECT": kgo.AckReject, "RENEW": kgo.AckRenew,
}

func main() {
	members := map[string]*member{}
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		words := strings.Split(commands.Text(), " ")
		switch words[0] {
		case "start":
			settings := map[string]string{}
			for _, word := range words[3:] {
				key, value, _ := strings.Cut(word, "=")
				settings[key] = value
			}
			made := &member{name: words[1], stopping: make(chan struct{}), orders: make(chan order, 10), assigned: map[string]bool{}}
			members[words[1]] = made
			go made.live(os.Args[1], words[2], settings)
		case "stop":
			close(members[words[1]].stopping)
		case "acknowledge":
			members[words[1]].orders <- order{statuses[words[2]], number(words[3])}
		}
	}
}
