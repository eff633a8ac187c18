package openai_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core/memory/embed/openai"
	"github.com/reflectory/reflectory/sdk"
)

// transport is an endpoint that sees the request itself.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestARequestIsThatOfTheProtocol looks at every byte that is sent.
func TestARequestIsThatOfTheProtocol(t *testing.T) {
	cases := []struct {
		name                string
		change              func(*openai.Options)
		body, authorization string
	}{
		{"plain", func(*openai.Options) {}, `{"model":"small","input":["a\u003cb"],"encoding_format":"float"}`, "Bearer " + key},
		{"dimensions", func(o *openai.Options) { o.Dims = 2 }, `{"model":"small","input":["a\u003cb"],"dimensions":2,"encoding_format":"float"}`, "Bearer " + key},
		{"no key", func(o *openai.Options) { o.KeyEnv = "" }, `{"model":"small","input":["a\u003cb"],"encoding_format":"float"}`, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			sent := 0
			e := embedder(t, nil, func(o *openai.Options) {
				c.change(o)
				o.Transport = transport(func(r *http.Request) (*http.Response, error) {
					sent++
					got, err := io.ReadAll(r.Body)
					if diff := cmp.Diff(c.body, string(got)); diff != "" || err != nil {
						t.Errorf("%v, body (-want +got):\n%s", err, diff)
					}
					want := http.Header{"Content-Type": {"application/json"}}
					if c.authorization != "" {
						want.Set("Authorization", c.authorization)
					}
					if diff := cmp.Diff(want, r.Header); diff != "" || r.Method != http.MethodPost {
						t.Errorf("%s, header (-want +got):\n%s", r.Method, diff)
					}
					return body(`{"data":[{"index":0,"embedding":[3,4]}]}`)
				})
			})
			if _, err := e.Embed(t.Context(), []string{"a<b"}); err != nil || sent != 1 {
				t.Errorf("%d requests, %v", sent, err)
			}
		})
	}
}

// TestShortTextsAreSentAFewAtATime: the number of texts is bounded too.
func TestShortTextsAreSentAFewAtATime(t *testing.T) {
	e := &endpoint{answer: lengths}
	if _, err := embedder(t, e, nil).Embed(t.Context(), strings.Fields(strings.Repeat("a ", 150))); err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for _, input := range e.inputs {
		sizes = append(sizes, len(input))
	}
	if diff := cmp.Diff([]int{64, 64, 22}, sizes); diff != "" {
		t.Errorf("texts at once (-want +got):\n%s", diff)
	}
}

// TestDimensionsStayTheSame: they are as many as were asked for, and as many as in the
// exchange before.
func TestDimensionsStayTheSame(t *testing.T) {
	for _, c := range []struct {
		name        string
		dims, texts int
	}{{"asked for", 3, 1}, {"of the exchange before", 0, 65}} {
		t.Run(c.name, func(t *testing.T) {
			e := &endpoint{answer: func(n int, input []string) (*http.Response, error) {
				var data []string
				for i := range input {
					data = append(data, fmt.Sprintf(`{"index":%d,"embedding":[1%s]}`, i, strings.Repeat(",1", n)))
				}
				return body(`{"data":[` + strings.Join(data, ",") + `]}`)
			}}
			_, err := embedder(t, e, func(o *openai.Options) { o.Dims = c.dims }).Embed(t.Context(), strings.Fields(strings.Repeat("a ", c.texts)))
			if sdk.ReasonOf(err) != "embedding_invalid" || !strings.Contains(err.Error(), "dimensions") {
				t.Errorf("after %d exchanges: %v", len(e.requests), err)
			}
		})
	}
}

// TestAnEndpointThatDoesNotAnswerIsNotWaitedForForEver.
func TestAnEndpointThatDoesNotAnswerIsNotWaitedForForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		e := embedder(t, nil, func(o *openai.Options) {
			o.Transport = transport(func(r *http.Request) (*http.Response, error) {
				tries++
				<-r.Context().Done()
				return nil, r.Context().Err()
			})
		})
		_, err := e.Embed(t.Context(), []string{"a"})
		if sdk.ReasonOf(err) != "embedder_unavailable" || !strings.Contains(err.Error(), "didn't answer within 30s") || tries < 1 || tries > 4 {
			t.Errorf("%d tries: %v", tries, err)
		}
	})
}

// TestTheWaitThatAnEndpointAsksForIsKept: in seconds, or as a date.
func TestTheWaitThatAnEndpointAsksForIsKept(t *testing.T) {
	for name, header := range map[string]func() string{
		"seconds": func() string { return "7" },
		"date":    func() string { return time.Now().Add(7 * time.Second).UTC().Format(http.TimeFormat) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &endpoint{answer: func(n int, input []string) (*http.Response, error) {
					if n == 0 {
						return status(429, "Retry-After", header())
					}
					return lengths(n, input)
				}}
				start := time.Now()
				if _, err := embedder(t, e, nil).Embed(t.Context(), []string{"a"}); err != nil || time.Since(start) != 7*time.Second {
					t.Errorf("after %s: %v", time.Since(start), err)
				}
			})
		})
	}
}

// TestARefusalHasItsClass: a wrong key isn't the same as a busy endpoint.
func TestARefusalHasItsClass(t *testing.T) {
	for code, want := range map[int]sdk.Code{
		400: sdk.Invalid, 401: sdk.Denied, 403: sdk.Denied, 404: sdk.Invalid, 408: sdk.Unavailable, 429: sdk.Unavailable, 500: sdk.Unavailable, 503: sdk.Unavailable,
	} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &endpoint{answer: func(int, []string) (*http.Response, error) { return status(code) }}
				_, err := embedder(t, e, nil).Embed(t.Context(), []string{"a"})
				if again := len(e.requests) > 1; sdk.CodeOf(err) != want || again != (want == sdk.Unavailable) || !strings.Contains(err.Error(), fmt.Sprint(code)) {
					t.Errorf("%d tries: %v (%s), want %s", len(e.requests), err, sdk.CodeOf(err), want)
				}
			})
		})
	}
}
