// Package gatewaytest is an upstream for tests: it answers from a script, in the three shapes of a gateway, and
// refuses the requests that real ones refuse. Its rules are from the public descriptions of November 2026.
//
// It is internal to Reflectory, and only tests import it.
package gatewaytest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"unicode/utf8"
)

// Reply is what the upstream answers one request with. The zero value is an empty text.
type Reply struct {
	Thinking, Text string
	Calls          []Call
	// Finish is the end in the shape's own words: default what the reply has.
	Finish string
	// Status refuses the request with an error that says Text, unless it is 0 or 200.
	Status int
	// Header is added to the answer's.
	Header map[string]string
	// Raw is sent as it is instead of a reply; a stream if the request asks for one.
	Raw string
	// Piece is how many bytes of a text or of arguments an event of a stream has, and more to the end of a
	// character: default 5.
	Piece int
	// CutAfter ends a stream's connection after this many events; 0 doesn't.
	CutAfter int
	// Wait is received from before the reply is sent; nil waits for nothing.
	Wait <-chan struct{}
	// WaitAfter is the number of events before Wait: 0 waits before the answer's head.
	WaitAfter int
}

// Call is a call of a tool.
type Call struct{ ID, Name, Arguments string }

// Request is a request as it came.
type Request struct {
	Method, Path, Query string
	Header              http.Header
	Body                string
}

// Upstream is a server. It is safe for concurrent use.
type Upstream struct {
	// URL is its base, with /v1.
	URL    string
	server *httptest.Server

	mu       sync.Mutex
	script   []Reply
	requests []Request
	count    int
	// thoughts are the reasoning items that calls need, by the call's item.
	thoughts map[string]string
	// threads are the replies that a thread may continue.
	threads map[string]bool
}

// New starts an upstream that gives the replies one after another, and the last one again and again.
func New(script ...Reply) *Upstream {
	u := &Upstream{script: script, thoughts: map[string]string{}, threads: map[string]bool{}}
	u.server = httptest.NewServer(http.HandlerFunc(u.serve))
	u.URL = u.server.URL + "/v1"
	return u
}

// Close ends the server.
func (u *Upstream) Close() { u.server.CloseClientConnections(); u.server.Close() }

// Requests are the requests so far.
func (u *Upstream) Requests() []Request {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]Request(nil), u.requests...)
}

// Set begins another script, and counts from the beginning.
func (u *Upstream) Set(script ...Reply) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.script, u.count = script, 0
}

// Then adds replies to the script.
func (u *Upstream) Then(script ...Reply) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.script = append(u.script, script...)
}

// wire is how a shape writes a reply.
type wire interface {
	// refuse is what is wrong with a request, "" if nothing is.
	refuse(u *Upstream, r *http.Request, body object) string
	fault(status int, message string) any
	whole(r *Reply, id string, body object) any
	// events are a stream's events, as they are sent.
	events(u *Upstream, r *Reply, id string, body object) []string
}

func (u *Upstream) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	path := strings.TrimPrefix(r.URL.Path, "/v1")
	u.mu.Lock()
	u.requests = append(u.requests, Request{r.Method, path, r.URL.RawQuery, r.Header.Clone(), string(body)})
	shape := map[string]wire{"/chat/completions": chat{}, "/responses": responses{}, "/messages": messages{}}[path]
	var asked object
	if shape == nil || json.Unmarshal(body, &asked) != nil {
		u.mu.Unlock()
		if path == "/messages/count_tokens" {
			answer(w, http.StatusOK, object{"input_tokens": 42})
		} else if strings.HasPrefix(path, "/responses/") {
			answer(w, http.StatusOK, object{"id": strings.Split(path, "/")[2], "object": "response", "output": []any{}})
		} else {
			answer(w, http.StatusNotFound, object{"error": object{"message": "there is nothing here"}})
		}
		return
	}
	if wrong := shape.refuse(u, r, asked); wrong != "" {
		u.mu.Unlock()
		answer(w, http.StatusBadRequest, shape.fault(http.StatusBadRequest, wrong))
		return
	}
	reply := u.script[min(u.count, len(u.script)-1)]
	u.count++
	id := fmt.Sprint(u.count)
	events := shape.events(u, &reply, id, asked)
	if asked["thread"] != nil {
		u.threads["msg_"+id] = true
	}
	u.mu.Unlock()
	for name, value := range reply.Header {
		w.Header().Set(name, value)
	}
	if reply.WaitAfter == 0 {
		wait(r, &reply)
	}
	switch {
	case reply.Status != 0 && reply.Status != http.StatusOK:
		answer(w, reply.Status, shape.fault(reply.Status, reply.Text))
	case asked["stream"] == true:
		stream(w, r, &reply, events)
	case reply.Raw != "":
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, reply.Raw)
	default:
		answer(w, http.StatusOK, shape.whole(&reply, id, asked))
	}
}

func wait(r *http.Request, reply *Reply) {
	if reply.Wait != nil {
		select {
		case <-reply.Wait:
		case <-r.Context().Done():
		}
	}
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func stream(w http.ResponseWriter, r *http.Request, reply *Reply, events []string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	if reply.Raw != "" {
		events = []string{reply.Raw}
	}
	for i, e := range events {
		if reply.WaitAfter == i && i > 0 {
			wait(r, reply)
		}
		if reply.CutAfter == i && i > 0 {
			panic(http.ErrAbortHandler)
		}
		if _, err := io.WriteString(w, e); err != nil {
			return
		}
		w.(http.Flusher).Flush()
	}
}

// object is a JSON object.
type object = map[string]any

// list are the objects of a member that is a list.
func list(o object, name string) (all []object) {
	values, _ := o[name].([]any)
	for _, v := range values {
		if v, is := v.(object); is {
			all = append(all, v)
		}
	}
	return all
}

func text(o object, name string) string {
	s, _ := o[name].(string)
	return s
}

// pieces cuts a text into pieces of a number of bytes, and of whole characters.
func (r *Reply) pieces(text string) (all []string) {
	n := cmp.Or(r.Piece, 5)
	for len(text) > n {
		end := n
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end++
		}
		all, text = append(all, text[:end]), text[end:]
	}
	return append(all, text)
}

// encode is a value as JSON.
func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// event is an event of a stream as it is sent.
func event(name string, v any) string {
	if name == "" {
		return "data: " + encode(v) + "\n\n"
	}
	return "event: " + name + "\ndata: " + encode(v) + "\n\n"
}

// Stream are the events of a reply, as they are sent for a path such as /messages. usage is whether the request asks
// for the usage, in chat completions.
func Stream(path string, r Reply, usage bool) []string {
	shape := map[string]wire{"/chat/completions": chat{}, "/responses": responses{}, "/messages": messages{}}[path]
	return shape.events(&Upstream{thoughts: map[string]string{}}, &r, "1", object{"model": "m", "stream_options": object{"include_usage": usage}})
}
