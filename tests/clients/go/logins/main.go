// Clients of franz-go that log in and do what they are told: see tests/clients/programs.py for the lines in and out.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

const patience = 20 * time.Second

// Login is tests/clients/logins.py's.
type Login struct {
	Bootstrap, Protocol, Mechanism, User, Password, Token string
	Authority, Certificate, Key                           string
	IsDelegated                                           bool `json:"is_delegated"`
}

// Order is one line: a new client comes with its login.
type Order struct {
	Client           int
	Do, Topic, Group string
	Login            *Login
}

type client struct {
	options  []kgo.Opt
	producer *kgo.Client
	consumer *kgo.Client
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func newClient(login Login) *client {
	options := []kgo.Opt{
		kgo.SeedBrokers(login.Bootstrap),
		kgo.RecordDeliveryTimeout(patience / 2),
		kgo.RetryTimeout(patience / 2),
		kgo.RetryBackoffFn(func(int) time.Duration { return 100 * time.Millisecond }),
		kgo.MetadataMinAge(200 * time.Millisecond),
		kgo.UnknownTopicRetries(0),
	}
	switch login.Mechanism {
	case "PLAIN":
		options = append(options, kgo.SASL(plain.Auth{User: login.User, Pass: login.Password}.AsMechanism()))
	case "SCRAM-SHA-256":
		auth := scram.Auth{User: login.User, Pass: login.Password, IsToken: login.IsDelegated}
		options = append(options, kgo.SASL(auth.AsSha256Mechanism()))
	case "SCRAM-SHA-512":
		auth := scram.Auth{User: login.User, Pass: login.Password, IsToken: login.IsDelegated}
		options = append(options, kgo.SASL(auth.AsSha512Mechanism()))
	case "OAUTHBEARER":
		options = append(options, kgo.SASL(oauth.Auth{Token: login.Token}.AsMechanism()))
	}
	if strings.HasSuffix(login.Protocol, "SSL") {
		options = append(options, kgo.DialTLSConfig(tlsConfig(login)))
	}
	return &client{options: options}
}

func tlsConfig(login Login) *tls.Config {
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	if login.Authority != "" {
		config.RootCAs.AppendCertsFromPEM(must(os.ReadFile(login.Authority)))
	}
	if login.Certificate != "" {
		config.Certificates = []tls.Certificate{must(tls.LoadX509KeyPair(login.Certificate, login.Key))}
	}
	return config
}

func (c *client) obey(order Order) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	switch order.Do {
	case "send":
		if c.producer == nil {
			made := must(kgo.NewClient(c.options...))
			if err := made.Ping(ctx); err != nil {
				return err
			}
			c.producer = made
		}
		return c.producer.ProduceSync(ctx, &kgo.Record{Topic: order.Topic, Value: []byte("x")}).FirstErr()
	case "read":
		if c.consumer == nil {
			own := []kgo.Opt{kgo.ConsumerGroup(order.Group), kgo.ConsumeTopics(order.Topic)}
			own = append(own, kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
			made := must(kgo.NewClient(append(own, c.options...)...))
			if err := made.Ping(ctx); err != nil {
				return err
			}
			c.consumer = made
		}
		return c.read(ctx)
	}
	for _, each := range []*kgo.Client{c.consumer, c.producer} {
		if each != nil {
			each.Close()
		}
	}
	return nil
}

func (c *client) read(ctx context.Context) error {
	for {
		fetches := c.consumer.PollRecords(ctx, 1)
		if fetches.NumRecords() > 0 {
			return nil
		}
		for _, each := range fetches.Errors() {
			return each.Err
		}
	}
}

// named is the protocol's error, if the broker said one, or Go's words.
func named(err error) string {
	var answered *kerr.Error
	var unknown *tls.CertificateVerificationError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &answered):
		return answered.Message
	case errors.As(err, &unknown):
		return "CertificateVerificationError"
	}
	return err.Error()
}

func main() {
	clients := map[int]*client{}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var order Order
		if err := json.Unmarshal(lines.Bytes(), &order); err != nil {
			panic(err)
		}
		if order.Login != nil {
			clients[order.Client] = newClient(*order.Login)
		}
		outcome := named(clients[order.Client].obey(order))
		fmt.Println(string(must(json.Marshal(map[string]string{"outcome": outcome}))))
	}
}
