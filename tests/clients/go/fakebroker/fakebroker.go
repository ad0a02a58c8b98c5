// Package fakebroker gives each test a Kafka broker of its own, out of one running
// `fakebroker serve --control 127.0.0.1:8092`. Copy it into your project: it needs nothing but Go's standard library.
package fakebroker

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

// JSON is the body of a request to the control API.
type JSON = map[string]any

// Broker is one broker. Kafka clients connect to Bootstrap; the control API is below its own path.
type Broker struct {
	Bootstrap []string
	t         testing.TB
	path      string
}

// Start starts a broker that lives as long as the test.
//
// The options are those of POST /brokers: nodes, config, seed, profile, as_release. When the test fails, its log has
// the broker's story: the last requests of each client, and why groups changed.
func Start(t testing.TB, options JSON) *Broker {
	t.Helper()
	var made struct {
		ID        string `json:"broker_id"`
		Bootstrap string
	}
	root := &Broker{t: t}
	root.Post("/brokers", options, &made)
	broker := &Broker{strings.Split(made.Bootstrap, ","), t, "/brokers/" + made.ID}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(broker.text("GET", "/story", nil))
		}
		broker.text("DELETE", "", nil)
	})
	return broker
}

// Get reads what is at a path into `answer`, a pointer.
func (b *Broker) Get(path string, answer any) {
	b.t.Helper()
	b.decode(b.text("GET", path, nil), answer)
}

// Put, as all requests, fails the test when the control API refuses it.
func (b *Broker) Put(path string, body JSON) {
	b.t.Helper()
	b.text("PUT", path, body)
}

// Post sends `body`, which may be nil, and reads the answer into `answer`, a pointer or nil.
func (b *Broker) Post(path string, body JSON, answer any) {
	b.t.Helper()
	b.decode(b.text("POST", path, body), answer)
}

// Delete removes what is at a path.
func (b *Broker) Delete(path string) {
	b.t.Helper()
	b.text("DELETE", path, nil)
}

func (b *Broker) text(method, path string, body JSON) string {
	b.t.Helper()
	control := os.Getenv("FAKEBROKER_CONTROL_URL")
	if control == "" {
		control = "http://127.0.0.1:8092"
	}
	var sent io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			b.t.Fatalf("%s %s: %v", method, path, err)
		}
		sent = bytes.NewReader(encoded)
	}
	request, err := http.NewRequest(method, control+b.path+path, sent)
	if err != nil {
		b.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if token := os.Getenv("FAKEBROKER_CONTROL_TOKEN"); token != "" { // if the broker does not run on this host
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		b.t.Fatalf("nobody answers at %s; is \"fakebroker serve --control\" running there? %v", control, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatalf("%s %s: %v", method, path, err)
	}
	if response.StatusCode >= 400 {
		b.t.Fatalf("%s %s: %s: %s", method, path, response.Status, text)
	}
	return string(text)
}

func (b *Broker) decode(text string, answer any) {
	b.t.Helper()
	if answer == nil {
		return
	}
	if err := json.Unmarshal([]byte(text), answer); err != nil {
		b.t.Fatalf("the control API answered %s: %v", text, err)
	}
}
