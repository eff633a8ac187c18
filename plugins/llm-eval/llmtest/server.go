package llmtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
)

// maxRequestBytes limits how much of a request the server reads: more than the largest that llm-eval sends.
const maxRequestBytes = 48 << 20

// T is the part of testing.T that [New] needs.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(func())
}

// Server is a running server. It is safe for concurrent use.
type Server struct {
	// URL is its base, such as "http://127.0.0.1:40123". See [Paths] for what is served.
	URL string

	http     *httptest.Server
	answer   func(*Request) Reply
	mu       sync.Mutex
	script   []Reply
	requests []*Request
	problems []string
}

// New starts a server that gives the replies in order, one to each request. A
// request that comes after the last fails the test. The server ends with it.
func New(t T, replies ...Reply) *Server {
	t.Helper()
	s := Start(replies...)
	t.Cleanup(func() {
		s.Close()
		for _, problem := range s.Problems() {
			t.Errorf("llmtest: %s", problem)
		}
	})
	return s
}

// Start is [New] for programs without a test: the caller closes the server and checks
// its problems.
func Start(replies ...Reply) *Server {
	s := &Server{script: replies}
	s.answer = s.next
	return s.start()
}

// StartFunc starts a server that asks a function for each reply.
func StartFunc(answer func(*Request) Reply) *Server {
	s := &Server{answer: answer}
	return s.start()
}

func (s *Server) start() *Server {
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	return s
}

// Close stops the server once no request is in flight. It is idempotent.
func (s *Server) Close() { s.http.Close() }

// Requests lists the requests so far, in the order of arrival.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Problems lists the requests that weren't in the script.
func (s *Server) Problems() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.problems)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	request := &Request{Path: r.URL.Path, Header: r.Header.Clone()}
	var err error
	if request.Body, err = io.ReadAll(io.LimitReader(r.Body, maxRequestBytes)); err != nil {
		return // the client went away
	}
	if r.Method == http.MethodGet && r.URL.Path == "/v1/models" {
		_, _ = io.WriteString(w, `{"object": "list", "data": [{"id": "scripted", "object": "model"}]}`) // the client went away
		return
	}
	if r.Method != http.MethodPost || !slices.Contains(Paths(), r.URL.Path) {
		s.problem("%s %s is not served", r.Method, r.URL.Path)
		http.NotFound(w, r)
		return
	}
	if err := json.Unmarshal(request.Body, request); err != nil {
		s.problem("the request is not JSON: %v", err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if wrong := request.wrong(); wrong != "" && request.Path != PathChat {
		s.problem("a request to %s isn't as the protocol wants it: %s: %s", request.Path, wrong, request.Body)
		http.Error(w, wrong, http.StatusBadRequest)
		return
	}
	request.normalize()
	s.mu.Lock()
	s.requests = append(s.requests, request)
	s.mu.Unlock()
	reply := s.answer(request)
	if reply.Hold != nil {
		select {
		case <-reply.Hold:
		case <-r.Context().Done():
			return
		}
	}
	reply.write(w, request)
}

// next takes the next reply of the script.
func (s *Server) next(*Request) Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.script) == 0 {
		s.problems = append(s.problems, fmt.Sprintf("request %d has no reply in the script", len(s.requests)))
		return Reply{Code: http.StatusTeapot, Raw: true, Body: `{"error":{"message":"the script has no more replies"}}`}
	}
	reply := s.script[0]
	if !reply.Forever {
		s.script = s.script[1:]
	}
	return reply
}

func (s *Server) problem(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}
