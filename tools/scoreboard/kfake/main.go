// A kfake of one broker:  kfake PORT SETTINGS_FILE
//
// Ends with status 2 for settings that kfake does not have. It has no initial rebalance delay, which is a delay of 0.
package main

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"
)

// What kfake says that it accepts, of the settings that Kafka has.
var accepted = map[string]bool{
	"compression.type":                          true,
	"connections.max.reauth.ms":                 true,
	"default.replication.factor":                true,
	"fetch.max.bytes":                           true,
	"group.consumer.heartbeat.interval.ms":      true,
	"group.consumer.session.timeout.ms":         true,
	"group.max.session.timeout.ms":              true,
	"group.max.size":                            true,
	"group.min.session.timeout.ms":              true,
	"group.share.delivery.count.limit":          true,
	"group.share.heartbeat.interval.ms":         true,
	"group.share.max.size":                      true,
	"group.share.partition.max.record.locks":    true,
	"group.share.record.lock.duration.ms":       true,
	"group.share.session.timeout.ms":            true,
	"log.cleaner.backoff.ms":                    true,
	"log.message.timestamp.type":                true,
	"log.retention.bytes":                       true,
	"log.retention.ms":                          true,
	"log.roll.ms":                               true,
	"log.segment.bytes":                         true,
	"max.incremental.fetch.session.cache.slots": true,
	"message.max.bytes":                         true,
	"min.insync.replicas":                       true,
	"offsets.retention.check.interval.ms":       true,
	"offsets.retention.minutes":                 true,
	"transaction.max.timeout.ms":                true,
	"transactional.id.expiration.ms":            true,
}

func main() {
	port, err := strconv.Atoi(os.Args[1])
	fail(err, 1)
	settings, err := read(os.Args[2])
	fail(err, 1)
	configs := map[string]string{"group.max.session.timeout.ms": "1800000"} // Kafka's default, kfake's is 300000
	for name, value := range settings {
		if name == "group.initial.rebalance.delay.ms" && value == "0" || name == "offsets.topic.replication.factor" {
			continue
		}
		if !accepted[name] {
			fail(fmt.Errorf("kfake has no setting %s=%s", name, value), 2)
		}
		configs[name] = value
	}
	cluster, err := kfake.NewCluster(
		kfake.NumBrokers(1), kfake.Ports(port), kfake.DefaultNumPartitions(1), kfake.BrokerConfigs(configs),
	)
	fail(err, 1)
	defer cluster.Close()
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	<-ended
}

func read(path string) (map[string]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	settings := map[string]string{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name, value, found := strings.Cut(lines.Text(), "="); found {
			settings[name] = value
		}
	}
	return settings, nil
}

func fail(err error, status int) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(status)
	}
}
