package conversation

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/table"
)

const (
	part            = "conversations"
	sessionPrefix   = "gateway-session/"
	waitingPrefix   = "gateway-waiting/"
	sessionAge      = "gateway-session-time/"
	placePrefix     = "gateway-place/"
	placeAge        = "gateway-place-time/"
	messagePrefix   = "gateway-message/"
	messageAge      = "gateway-message-time/"
	keySeparator    = "\x00"
	unnamedLifetime = 30 * 24 * time.Hour
)

// Session is a session of a gateway: a conversation, or what a client says is one.
type Session struct {
	// Subject is who talks. Named is whether the client named the session; others are found by their
	// answers alone, and end with them.
	Subject string `json:"subject,omitempty"`
	Named   bool   `json:"named,omitempty"`
	// Turn is its newest turn.
	Turn int64 `json:"turn"`
	// Answer is the place of its last answer; "" before the first.
	Answer string `json:"answer,omitempty"`
	// Parent is the session that it branched off from.
	Parent string `json:"parent,omitempty"`
	// Open are its turns that have no feedback yet, the oldest first.
	Open []Open `json:"open,omitempty"`
	// At is when it had its last request or answer, in Unix nanoseconds.
	At int64 `json:"at"`
}

// Open is a turn that waits for its feedback, and what is known for it.
type Open struct {
	Turn int64 `json:"turn"`
	// Answered is whether the turn has a reply that calls no tools.
	Answered bool `json:"answered,omitempty"`
	// Valid is the evaluator's verdict on the turn's first attempt; nil without one.
	Valid *bool `json:"valid,omitempty"`
	// Tools are the outcomes of its calls of tools, in order.
	Tools []Tool `json:"tools,omitempty"`
	// Used are the memories that its replies show as used, with how strongly.
	Used map[string]float64 `json:"used,omitempty"`
	// At is when its newest reply came, in Unix nanoseconds.
	At int64 `json:"at"`
}

// Tool is the outcome of a call.
type Tool struct {
	Call string `json:"call,omitempty"`
	Name string `json:"name,omitempty"`
	OK   bool   `json:"ok,omitempty"`
}

// Place is a point of a conversation: a request, an answer, or a message with context.
type Place struct {
	Session string `json:"session"`
	Turn    int64  `json:"turn"`
	// Request is the place of the request that an answer answers, and Answer is the answer's place, which
	// it may have several of.
	Request string `json:"request,omitempty"`
	Answer  string `json:"answer,omitempty"`
	// Model is the model that gave an answer.
	Model string `json:"model,omitempty"`
	// Continued is whether a request was made after an answer to this one.
	Continued bool `json:"continued,omitempty"`
	// Snapshot is the context that was put into the message, and Given are the memories that it only
	// refers to, with the words for it, since their texts are further up.
	Snapshot string            `json:"snapshot,omitempty"`
	Given    map[string]string `json:"given,omitempty"`
	// At is when it was last seen, in Unix nanoseconds.
	At int64 `json:"at"`
}

// Message is a message of a client's conversation.
type Message struct {
	// Before is the digest of the messages before it; "" for the first.
	Before string          `json:"before,omitempty"`
	Role   string          `json:"role"`
	Body   json.RawMessage `json:"body"`
	At     int64           `json:"at"`
}

// key is a record's id: its namespace, and its name there.
func key(namespace, name string) string { return namespace + keySeparator + name }

// named describes an id without a namespace or a name; "" for any other.
func named(id string) string {
	namespace, name, found := strings.Cut(id, keySeparator)
	if !found || name == "" || core.CheckNamespace(namespace) != nil {
		return "its key isn't a namespace and a name"
	}
	return ""
}

var sessions = table.Kind[Session]{
	Part: part, Prefix: sessionPrefix,
	Doc: "namespace 00 session | a session of the gateway: `{subject?, named?, turn, answer?, parent?, open?: [{turn, answered?, valid?, tools?, used?, at}], at}`; `turn` is its newest turn, `answer` the digest of the place of its last answer, `open` are its turns without feedback, `at` is in Unix nanoseconds. One that no client named is removed 30 days after its last request",
	Valid: func(id string, s *Session) string {
		if s.Turn < 1 || s.At <= 0 {
			return "it isn't a session"
		}
		return named(id)
	},
	Indices: []table.Index[Session]{
		byTime(waitingPrefix, "at(8) `/` namespace 00 session | index of sessions with turns without feedback, by their oldest such turn: empty", func(s *Session) int64 {
			if len(s.Open) == 0 {
				return 0
			}
			return s.Open[0].At
		}),
		byTime(sessionAge, "at(8) `/` namespace 00 session | index by age of sessions that no client named: empty", func(s *Session) int64 {
			if s.Named {
				return 0
			}
			return s.At
		}),
	},
}

var places = table.Kind[Place]{
	Part: part, Prefix: placePrefix,
	Doc:     "namespace 00 digest | a point of a conversation, by the SHA-256 of what the client wrote up to it: `{session, turn, request?, answer?, model?, continued?, snapshot?, given?, at}`. It is removed 30 days after it was last seen",
	Passing: true,
	Valid: func(id string, p *Place) string {
		if p.Session == "" || p.Turn < 1 || p.At <= 0 {
			return "it isn't a place"
		}
		return named(id)
	},
	Indices: []table.Index[Place]{byTime(placeAge, "at(8) `/` namespace 00 digest | index by age: empty", func(p *Place) int64 { return p.At })},
}

var messages = table.Kind[Message]{
	Part: part, Prefix: messagePrefix,
	Doc: "namespace 00 digest | a message that runs name, by the digest of the messages up to it: `{before?, role, body, at}`; `before` is the digest of the message before. It is removed when runs from the day of `at` are",
	Valid: func(id string, m *Message) string {
		if m.Role == "" || len(m.Body) == 0 || m.At <= 0 {
			return "it isn't a message"
		}
		return named(id)
	},
	Indices: []table.Index[Message]{byTime(messageAge, "at(8) `/` namespace 00 digest | index by age: empty", func(m *Message) int64 { return m.At })},
}

// byTime is an index by a time in nanoseconds, without records whose time is 0.
func byTime[R any](prefix, doc string, at func(*R) int64) table.Index[R] {
	index := table.ByNumber(prefix, doc, func(rec *R) uint64 { return uint64(at(rec)) })
	all := index.Entries
	index.Entries = func(id string, rec *R) []table.Entry {
		if at(rec) == 0 {
			return nil
		}
		return all(id, rec)
	}
	return index
}

// Checker proves that the records and their indices agree.
func Checker() core.Rebuilder { return table.Part{&sessions, &places, &messages} }
