//go:build bench && linux

package cli

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host"
)

// thinker is an upstream that answers each request with the same text, whole or as a stream, after 200 to 600 ms: as a quick model
// does, so that 16 clients don't ask as often as the machine can answer, and not all at once. Its header has its own time, in ns.
func thinker(t *testing.T) string {
	t.Helper()
	text := strings.Repeat("The release is shipped with make ship. ", 3)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		begun := time.Now()
		time.Sleep(200*time.Millisecond + rand.N(400*time.Millisecond))
		w.Header().Set("X-Request-Id", strconv.FormatInt(int64(time.Since(begun)), 10))
		if !strings.Contains(string(body), `"stream":true`) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}}`, text)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for word := range strings.FieldsSeq(text) {
			_, _ = fmt.Fprintf(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":null}]}\n\n", word)
			w.(http.Flusher).Flush()
		}
		_, _ = io.WriteString(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":7,\"total_tokens\":18}}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.URL
}

// clients are 16 clients, each of which asks a number of times; they return how long each answer took beyond the upstream's own time,
// up to its first byte or whole.
func clients(t *testing.T, url string, tokens []string, model, more string, first bool) (samples coretest.Samples) {
	const count, times = 16, 6
	transport := &http.Transport{MaxIdleConnsPerHost: count}
	defer transport.CloseIdleConnections()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for n := range count {
		wg.Go(func() {
			for i := range times {
				body := fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"Steps of topic %d, please: client %d asks at %d."}]%s}`, model, (n*times+i)%997, n, time.Now().UnixNano(), more)
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/chat/completions", strings.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				r.Header.Set("Authorization", "Bearer "+tokens[n%len(tokens)])
				r.Header.Set("Content-Type", "application/json")
				begun := time.Now()
				a, err := transport.RoundTrip(r)
				if err != nil {
					t.Error(err)
					return
				}
				if first {
					_, _ = io.ReadFull(a.Body, make([]byte, 1))
				} else {
					_, _ = io.Copy(io.Discard, a.Body)
				}
				took := time.Since(begun)
				text, err := io.ReadAll(a.Body)
				_ = a.Body.Close()
				if err != nil || a.StatusCode != http.StatusOK {
					t.Errorf("%d %s %v", a.StatusCode, text, err)
				}
				own, err := strconv.ParseInt(a.Header.Get("X-Request-Id"), 10, 64)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				samples = append(samples, took-time.Duration(own))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return samples
}

// TestFiguresGateway measures what the gateway adds to an upstream's own time, for 16 clients at once: without a check, to the first
// byte of a stream, and with a recall in 100,000 memories. Clients, gateway and upstream share a process.
func TestFiguresGateway(t *testing.T) {
	const memories, batch, namespace = 100_000, 500, "many"
	url := thinker(t)
	w := newPlainWorld(t)
	w.file("reflectory.yaml", fmt.Sprintf("settings: {llm: {provider: ollama, model: base, base_url: %q, endpoints: [%q]}}\n", url, strings.TrimPrefix(url, "http://")))
	w.file("gateway.yaml", "models:\n  plain: {namespace: few, check: {tools: false, response_format: false}}\n  recalls: {namespace: many, recall: {max_tokens: 800}, check: {tools: false, response_format: false}}\n")
	h, err := host.Open(t.Context(), host.Config{Settings: figureSettings(t, w.env["REFLECTORY_DATA_DIR"])})
	if err != nil {
		t.Fatal(err)
	}
	ctx := core.WithCaller(t.Context(), core.Operator("figures"))
	for from := 0; from < memories; from += batch {
		var list []*core.ObserveRequest
		for i := from; i < from+batch; i++ {
			list = append(list, &core.ObserveRequest{Namespace: namespace, ID: fmt.Sprintf("m-%d", i), Content: fmt.Sprintf("Task %d of topic %d ends with step %d.", i, i%997, i%31)})
		}
		if _, _, err := h.Memories.ObserveAll(ctx, list); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	var tokens []string
	for n := range 8 { // a subject may send 100 requests a second
		tokens = append(tokens, w.parsed(exitPassed, fmt.Sprintf("token new agent-%d --scope model --namespace few --namespace many --json", n))["token"].(string))
	}
	served := w.serve()
	gate := "http://" + served.Listen + "/openai/v1"
	for _, row := range []struct {
		name, model, more string
		first             bool
		at, target        float64
	}{
		{"gateway without a check over its upstream, 16 clients", "plain", "", false, .5, 1},
		{"… p99", "plain", "", false, .99, 5},
		{"… first byte of a stream", "plain", `,"stream":true`, true, .5, 1},
		{"… with recall and snapshot in 100,000 memories", "recalls", "", false, .5, 15},
	} {
		ask := func(through bool) coretest.Samples {
			if through {
				return clients(t, gate, tokens, row.model, row.more, row.first)
			}
			return clients(t, url+"/v1", tokens, row.model, row.more, row.first)
		}
		ask(true) // the first loads the namespace
		var own, both coretest.Samples
		for range 5 {
			own, both = append(own, ask(false)...), append(both, ask(true)...)
		}
		f := coretest.Figure{Name: row.name, Value: (both.Micros(row.at) - own.Micros(row.at)) / 1000, Unit: "ms", Target: row.target}
		f.Note = fmt.Sprintf("%.1f over the %.1f ms of a client that asks it directly, p10 %.1f", both.Micros(row.at)/1000, own.Micros(row.at)/1000, (both.Micros(.1)-own.Micros(.1))/1000)
		f.Print(os.Stdout)
	}
}
