package surfaces

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// lasting is how long the load of a test lasts: REFLECTORY_LOAD_TIME, such as 10m, by
// default too short to show more than that the test works.
func lasting(t testing.TB) time.Duration {
	t.Helper()
	text := os.Getenv("REFLECTORY_LOAD_TIME")
	if text == "" {
		return 15 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 10*time.Second {
		t.Fatalf("REFLECTORY_LOAD_TIME is %q, no time of at least 10s", text)
	}
	return d
}

// callers is how many make requests at once, each with a token and so a rate of its own.
const callers = 8

// pace is between two requests of a caller, below its rate.
const pace = 25 * time.Millisecond

// load are callers that make requests until they are stopped.
type load struct {
	mu sync.Mutex
	// stored are the ids of memories whose storing was acknowledged.
	stored   []string
	requests int
	failures []string
}

// tokens makes a token for each caller.
func tokens(t testing.TB, s *server) []string {
	t.Helper()
	operator, list := s.operator(), make([]string, callers)
	for i := range list {
		a := operator.must(t, "POST", "/v1/tokens", map[string]any{
			"subject": fmt.Sprintf("caller-%d", i), "scopes": []string{"memory:read", "memory:write", "run"}, "namespaces": []string{"load/**"},
		})
		list[i] = between(string(a.Body), `"token":"`, `"`)
	}
	return list
}

func between(text, before, after string) string {
	_, rest, _ := strings.Cut(text, before)
	found, _, _ := strings.Cut(rest, after)
	return found
}

// run makes each caller send requests against the server at an address until the context
// ends. A connection that fails is tried again: the server may be on its way back.
func (l *load) run(ctx context.Context, s *server, tokens []string, writes bool) {
	var wg sync.WaitGroup
	for i, token := range tokens {
		wg.Go(func() {
			c, rng := s.client(token), rand.New(rand.NewPCG(uint64(i), 1))
			for n := 0; ctx.Err() == nil; n++ {
				l.request(c, i, rng, writes)
				select {
				case <-ctx.Done():
				case <-time.After(pace):
				}
			}
		})
	}
	wg.Wait()
}

// request makes one request of the mix.
func (l *load) request(c *client, caller int, rng *rand.Rand, writes bool) {
	namespace := fmt.Sprintf("load/%d", caller)
	id := ""
	var a answer
	var err error
	switch kind := rng.IntN(10); {
	case kind < 4 && writes:
		id = fmt.Sprintf("m-%d-%d", caller, rng.Uint64())
		a, err = c.do("POST", "/v1/memories", map[string]any{"id": id, "namespace": namespace, "content": "memory " + id})
	case kind < 6:
		a, err = c.do("GET", "/v1/memories?limit=20&namespace="+strings.ReplaceAll(namespace, "/", "%2F"), nil)
	case kind < 8:
		a, err = c.do("POST", "/v1/recall", map[string]any{"namespace": namespace, "query": "memory of a caller"})
	case kind < 9:
		a, err = c.do("GET", "/v1/runs?namespace="+strings.ReplaceAll(namespace, "/", "%2F"), nil)
	default:
		a, err = c.do("GET", "/v1/memories/absent-memory", nil)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests++
	switch {
	case err != nil: // the server was killed
	case id != "" && a.Status == http.StatusOK:
		l.stored = append(l.stored, id)
	case a.Status >= 500 && a.Status != http.StatusServiceUnavailable, a.Status == http.StatusUnauthorized:
		l.failures = append(l.failures, fmt.Sprintf("%d %s", a.Status, a.Body))
	}
}

// TestLoad_WithKills: under a mixed load the server is killed again and again. What was
// acknowledged is there, and the store agrees.
func TestLoad_WithKills(t *testing.T) {
	data := t.TempDir()
	s := start(t, data, "")
	keys, listen := tokens(t, s), s.at.Listen
	ctx, stop := context.WithTimeout(t.Context(), lasting(t))
	defer stop()
	l := &load{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.run(ctx, s, keys, true)
	}()
	kills := 0
	for every := lasting(t) / 10; ; kills++ {
		select {
		case <-ctx.Done():
		case <-time.After(every):
			s.kill()
			s = start(t, data, listen)
			continue
		}
		break
	}
	<-done
	s.stop()
	for _, f := range l.failures {
		t.Error(f)
	}
	t.Logf("%d requests, %d memories acknowledged, %d kills", l.requests, len(l.stored), kills)
	if len(l.stored) < 50 || kills < 5 {
		t.Error("the load did too little to show anything")
	}
	if out, err := command(t, data, "store", "check"); err != nil {
		t.Errorf("the store: %v %s", err, out)
	}
	s = start(t, data, "")
	operator := s.operator()
	for _, id := range l.stored {
		for {
			a, err := operator.do("GET", "/v1/memories/"+id, nil)
			if err != nil {
				t.Fatal(err)
			}
			if a.Status == http.StatusTooManyRequests {
				seconds, _ := strconv.Atoi(a.Header.Get("Retry-After"))
				time.Sleep(max(time.Second, time.Duration(seconds)*time.Second))
				continue
			}
			if a.Status != http.StatusOK {
				t.Errorf("%s was acknowledged, and now: %d %s", id, a.Status, a.Body)
			}
			break
		}
	}
	s.stop()
}

// TestLoad_MemoryStaysFlat: under a load that only reads, the process doesn't grow in the
// second half, but by a tenth, and afterwards it has no more goroutines than before.
func TestLoad_MemoryStaysFlat(t *testing.T) {
	s := start(t, t.TempDir(), "")
	keys := tokens(t, s)
	filled := s.client(keys[0])
	for i := range 200 {
		a, err := filled.do("POST", "/v1/memories", map[string]any{"namespace": "load/0", "content": fmt.Sprintf("memory number %d", i)})
		if err != nil || a.Status != http.StatusOK && a.Status != http.StatusTooManyRequests {
			t.Fatalf("%d %s %v", a.Status, a.Body, err)
		}
	}
	before := s.goroutines()
	whole := lasting(t)
	ctx, stop := context.WithTimeout(t.Context(), whole)
	defer stop()
	l, done := &load{}, make(chan struct{})
	go func() {
		defer close(done)
		l.run(ctx, s, keys, false)
	}()
	var sizes []int
	const samples = 20
	for range samples {
		select {
		case <-ctx.Done():
		case <-time.After(whole / (samples + 2)):
			sizes = append(sizes, resident(t, s.cmd.Process.Pid))
		}
	}
	<-done
	for _, f := range l.failures {
		t.Error(f)
	}
	second := sizes[len(sizes)/2:]
	least, most := second[0], second[0]
	for _, n := range second {
		least, most = min(least, n), max(most, n)
	}
	middle := (least + most) / 2
	t.Logf("%d requests, %d KiB resident in the second half ± %d KiB", l.requests, middle, (most-least)/2)
	if whole >= time.Minute && (most-least)/2 > middle/10 {
		t.Errorf("the process grows: %v KiB", sizes)
	}
	after := s.goroutines()
	for tries := 0; after > before && tries < 60; tries++ {
		time.Sleep(time.Second)
		after = s.goroutines()
	}
	if after > before {
		t.Errorf("%d goroutines before the load, and %d after it", before, after)
	}
	s.stop()
}

// goroutines is how many the server has, including those of the request that asks.
func (s *server) goroutines() int {
	s.t.Helper()
	http.DefaultClient.CloseIdleConnections()
	text := string(s.operator().must(s.t, "GET", "/metrics", nil).Body)
	n, err := strconv.Atoi(strings.TrimSpace(between(text, "\ngo_goroutines ", "\n")))
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// resident is how much memory a process has, in KiB.
func resident(t testing.TB, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(between(string(text), "VmRSS:", "kB"))
	if len(fields) != 1 {
		t.Fatalf("its size isn't known: %s", text)
	}
	n, err := strconv.Atoi(fields[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}
