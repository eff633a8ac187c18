package turns

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// object is a JSON object that is sent.
type object map[string]any

// caller asks a server with its own token.
type caller struct {
	url, token string
	// namespace is the only one that it reaches.
	namespace string
}

// prompt is a snapshot, as far as rows look at it.
type prompt struct {
	ID        string `json:"snapshot_id"`
	Session   string `json:"session_id"`
	Turn      int64  `json:"turn_id"`
	Text      string `json:"prompt"`
	Duplicate bool   `json:"duplicate"`
	Digest    string `json:"digest"`
	Chars     int    `json:"chars_injected"`
	Policy    struct {
		Mode     string `json:"mode"`
		MaxChars int    `json:"max_chars"`
	} `json:"policy_applied"`
	RoleMix *struct {
		Profile string `json:"profile_id"`
		Reason  string `json:"activation_reason"`
	} `json:"role_mix"`
	Used    []used `json:"blocks_used"`
	Dropped []struct {
		ID     string `json:"block_id"`
		Reason string `json:"reason"`
	} `json:"dropped_blocks"`
}

// used is a block of a prompt.
type used struct {
	ID       string `json:"block_id"`
	Category string `json:"category"`
	MemoryID string `json:"memory_id"`
	Anchor   bool   `json:"anchor"`
	Stable   bool   `json:"stable"`
	Chars    int    `json:"chars"`
	Digest   string `json:"payload_digest"`
	Payload  string `json:"payload"`
}

// payload is the text of a block in the prompt; "" if it isn't there.
func (p *prompt) payload(block string) string {
	for i := range p.Used {
		if p.Used[i].ID == block {
			return p.Used[i].Payload
		}
	}
	return ""
}

// caller makes a caller with its own namespace. An operator may make anchors too.
func (s *Server) caller(t *testing.T, name string, operator bool) *caller {
	t.Helper()
	scopes := []string{"memory:read", "memory:write", "memory:erase"}
	if operator {
		scopes = append(scopes, "operate")
	}
	var made struct{ Token string }
	first := &caller{s.URL, s.Token, "**"}
	first.post(t, "/v1/tokens", object{"subject": name, "scopes": scopes, "namespaces": []string{"turns/" + name}}, &made)
	return &caller{s.URL, made.Token, "turns/" + name}
}

// build asks for the prompt of a turn.
func (c *caller) build(t *testing.T, in object) *prompt {
	t.Helper()
	in["namespace"] = c.namespace
	p := &prompt{}
	c.post(t, "/v1/snapshots", in, p)
	return p
}

// observe stores a memory.
func (c *caller) observe(t *testing.T, content string) (id string) {
	t.Helper()
	var m struct{ ID string }
	c.post(t, "/v1/memories", object{"namespace": c.namespace, "content": content}, &m)
	return m.ID
}

// feedback describes how a turn went.
func (c *caller) feedback(t *testing.T, p *prompt, outcome string, more object) {
	t.Helper()
	in := object{"session": p.Session, "turn": p.Turn, "outcome": outcome, "source": "tool"}
	for field, value := range more {
		in[field] = value
	}
	c.post(t, "/v1/feedback", in, nil)
}

// session are the turns of a session, and its windows.
type session struct {
	Window   int64
	Windows  int64
	NextTurn int64 `json:"next_turn"`
	Items    []struct {
		Turn       int64
		Reflection *struct {
			SnapshotID   string `json:"snapshot_id"`
			FailureClass string `json:"failure_class"`
			Hint         string `json:"next_turn_hint"`
		}
	}
}

// session looks at a session of the caller's.
func (c *caller) session(t *testing.T, name string) *session {
	t.Helper()
	s := &session{}
	c.must(t, http.MethodGet, "/v1/sessions/"+url.PathEscape(name)+"?limit=200", nil, s)
	return s
}

func (c *caller) post(t *testing.T, path string, in, out any) {
	t.Helper()
	c.must(t, http.MethodPost, path, in, out)
}

// must makes a request that has to succeed.
func (c *caller) must(t *testing.T, method, path string, in, out any) {
	t.Helper()
	status, body := c.do(t, method, path, in)
	if status != http.StatusOK {
		t.Fatalf("%s %s: %d %s", method, path, status, body)
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(body, out); err != nil {
		t.Fatalf("%s %s: %v: %s", method, path, err, body)
	}
}

// refused makes a request that has to be refused, with a status and a code.
func (c *caller) refused(t *testing.T, method, path string, in any, status int, code string) {
	t.Helper()
	got, body := c.do(t, method, path, in)
	var problem struct{ Code string }
	_ = json.Unmarshal(body, &problem) // what isn't a problem has no code
	if got != status || problem.Code != code {
		t.Errorf("%s %s: %d %s, not %d %s", method, path, got, body, status, code)
	}
}

// do makes a request. If the server says that requests come too often, it waits as long as
// the server says, and tries again.
func (c *caller) do(t *testing.T, method, path string, in any) (status int, body []byte) {
	t.Helper()
	for {
		var send io.Reader
		if in != nil {
			text, err := json.Marshal(in)
			if err != nil {
				t.Fatal(err)
			}
			send = bytes.NewReader(text)
		}
		r, err := http.NewRequestWithContext(t.Context(), method, c.url+path, send)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(c.token))
		if in != nil {
			r.Header.Set("Content-Type", "application/json")
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err = io.ReadAll(answer.Body)
		_ = answer.Body.Close() // all of it is read
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != http.StatusTooManyRequests {
			return answer.StatusCode, body
		}
		seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
		if err != nil {
			t.Fatalf("%d without a time: %s", answer.StatusCode, body)
		}
		select {
		case <-t.Context().Done():
		case <-time.After(time.Duration(seconds) * time.Second):
		}
	}
}
