// Clients of sarama that do what they are told: see tests/clients/programs.py for the lines in and out.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"log"
	"os"
	"strings"
	"time"

	"github.com/IBM/sarama"
	"github.com/xdg-go/scram"
)

// Login is tests/clients/logins.py's.
type Login struct {
	Bootstrap, Protocol, Mechanism, User, Password, Token string
	Authority, Certificate, Key                           string
	PatienceS                                             float64 `json:"patience_s"`
}

// Order is one line: a new client comes with its login.
type Order struct {
	Client           int
	Do, Topic, Group string
	Login            *Login
	Codec            string
	TransactionalID  string `json:"transactional_id"`
	Commit           bool
	Partitions       int32
	TimestampMs      int64 `json:"timestamp_ms"`
	Settings         map[string]string
	Records          []Record
}

// Answer is the line for it.
type Answer struct {
	Outcome string   `json:"outcome"`
	Records []Record `json:"records,omitempty"`
	Offsets []*int64 `json:"offsets,omitempty"`
}

type client struct {
	login    Login
	producer sarama.SyncProducer
	reader   *reader
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// config is what every client of a login has in common.
func (c *client) config() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.V4_0_0_0
	config.Producer.Return.Successes = true
	config.Metadata.Retry.Max, config.Metadata.Retry.Backoff = 3, 100*time.Millisecond
	config.Metadata.RefreshFrequency = 500 * time.Millisecond
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Return.Errors = true
	config.Consumer.MaxWaitTime = 200 * time.Millisecond
	config.Consumer.Group.Rebalance.Retry.Backoff = 100 * time.Millisecond
	if c.login.Mechanism != "" {
		c.logIn(config)
	}
	if strings.HasSuffix(c.login.Protocol, "SSL") {
		config.Net.TLS.Enable, config.Net.TLS.Config = true, c.tls()
	}
	return config
}

func (c *client) logIn(config *sarama.Config) {
	config.Net.SASL.Enable = true
	config.Net.SASL.Mechanism = sarama.SASLMechanism(c.login.Mechanism)
	config.Net.SASL.User, config.Net.SASL.Password = c.login.User, c.login.Password
	switch c.login.Mechanism {
	case sarama.SASLTypeSCRAMSHA256:
		config.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient { return &scramClient{hash: scram.SHA256} }
	case sarama.SASLTypeSCRAMSHA512:
		config.Net.SASL.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient { return &scramClient{hash: scram.SHA512} }
	case sarama.SASLTypeOAuth:
		config.Net.SASL.TokenProvider = c
	}
}

// Token gives the token of the login, good or bad.
func (c *client) Token() (*sarama.AccessToken, error) {
	return &sarama.AccessToken{Token: c.login.Token}, nil
}

func (c *client) tls() *tls.Config {
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	if c.login.Authority != "" {
		config.RootCAs.AppendCertsFromPEM(must(os.ReadFile(c.login.Authority)))
	}
	if c.login.Certificate != "" {
		config.Certificates = []tls.Certificate{must(tls.LoadX509KeyPair(c.login.Certificate, c.login.Key))}
	}
	return config
}

// scramClient is xdg-go's, as sarama wants one.
type scramClient struct {
	hash         scram.HashGeneratorFcn
	conversation *scram.ClientConversation
}

func (s *scramClient) Begin(user, password, authorization string) error {
	made, err := s.hash.NewClient(user, password, authorization)
	if err == nil {
		s.conversation = made.NewConversation()
	}
	return err
}

func (s *scramClient) Step(challenge string) (string, error) { return s.conversation.Step(challenge) }

func (s *scramClient) Done() bool { return s.conversation.Done() }

func (c *client) obey(order Order) (answer Answer, err error) {
	switch order.Do {
	case "send":
		err = c.send(order.Topic)
	case "read":
		err = c.read(order.Topic, order.Group)
	case "produce":
		err = c.produce(order)
	case "transaction":
		err = c.transaction(order)
	case "offsets":
		answer.Offsets, err = c.offsets(order)
	case "subscribe":
		err = c.subscribe(order.Topic, order.Group, order.Settings)
	case "poll":
		answer.Records, err = c.reader.poll(100 * time.Millisecond)
	case "commit":
		c.reader.commit()
	case "close":
		c.close()
	}
	return answer, err
}

func (c *client) send(topic string) error {
	if c.producer == nil {
		made, err := sarama.NewSyncProducer([]string{c.login.Bootstrap}, c.config())
		if err != nil {
			return err
		}
		c.producer = made
	}
	_, _, err := c.producer.SendMessage(&sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder("x")})
	return err
}

// read waits for a record. A reader that failed is made anew.
func (c *client) read(topic, group string) error {
	if c.reader == nil {
		if err := c.subscribe(topic, group, nil); err != nil {
			return err
		}
	}
	end := time.Now().Add(time.Duration(c.login.PatienceS * float64(time.Second)))
	for time.Now().Before(end) {
		records, err := c.reader.poll(200 * time.Millisecond)
		if err != nil {
			c.reader.close()
			c.reader = nil
			return err
		}
		if len(records) > 0 {
			return nil
		}
	}
	return errors.New("nothing")
}

func (c *client) close() {
	if c.reader != nil {
		c.reader.close()
		c.reader = nil
	}
	if c.producer != nil {
		if err := c.producer.Close(); err != nil {
			log.Print(err)
		}
		c.producer = nil
	}
}

// named is the protocol's error, if the broker said one, or Go's words.
func named(err error) string {
	var answered sarama.KError
	var unknown *tls.CertificateVerificationError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &unknown):
		return "CertificateVerificationError"
	case errors.As(err, &answered):
		return answered.Error()
	}
	return err.Error()
}

func main() {
	sarama.Logger = log.Default()
	clients := map[int]*client{}
	orders, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var order Order
		if orders.Decode(&order) != nil {
			return
		}
		if order.Login != nil {
			clients[order.Client] = &client{login: *order.Login}
		}
		answer, err := clients[order.Client].obey(order)
		answer.Outcome = named(err)
		if answers.Encode(answer) != nil {
			return
		}
	}
}
