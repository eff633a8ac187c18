package openai_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core/memory/embed/openai"
	"github.com/reflectory/reflectory/sdk"
)

const key = "sk-secret-1234"

// endpoint is an endpoint without a network.
type endpoint struct {
	requests []*http.Request
	inputs   [][]string
	// answer is the nth reply, from 0.
	answer func(n int, input []string) (*http.Response, error)
}

func (e *endpoint) RoundTrip(r *http.Request) (*http.Response, error) {
	var body struct {
		Model      string
		Input      []string
		Dimensions int
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return nil, err
	}
	e.requests, e.inputs = append(e.requests, r), append(e.inputs, body.Input)
	return e.answer(len(e.requests)-1, body.Input)
}

func status(code int, header ...string) (*http.Response, error) {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: code, Header: h, Body: io.NopCloser(strings.NewReader("wrong key " + key))}, nil
}

func refusal(code int, text string) (*http.Response, error) {
	return &http.Response{StatusCode: code, Body: io.NopCloser(strings.NewReader(text))}, nil
}

func body(text string) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(text))}, nil
}

// lengths answers each text with (its length, 1), the last text first.
func lengths(_ int, input []string) (*http.Response, error) {
	var data []string
	for i := len(input) - 1; i >= 0; i-- {
		data = append(data, fmt.Sprintf(`{"index":%d,"embedding":[%d,1]}`, i, len(input[i])))
	}
	return body(`{"data":[` + strings.Join(data, ",") + `]}`)
}

func embedder(t *testing.T, e *endpoint, change func(*openai.Options)) *openai.Embedder {
	t.Helper()
	o := openai.Options{
		URL: "https://host.test/v1/", Model: "small", KeyEnv: "THE_KEY", Transport: e,
		Getenv: func(name string) string { return map[string]string{"THE_KEY": " " + key + "\n"}[name] },
	}
	if change != nil {
		change(&o)
	}
	got, err := openai.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestEmbed(t *testing.T) {
	e := &endpoint{answer: lengths}
	got, err := embedder(t, e, nil).Embed(t.Context(), []string{" ", "aaa", "", "bb"})
	if err != nil {
		t.Fatal(err)
	}
	for i, first := range []float64{0, 3 / math.Sqrt(10), 0, 2 / math.Sqrt(5)} {
		if len(got[i]) != 2 || math.Abs(float64(got[i][0])-first) > 1e-6 {
			t.Errorf("vector %d is %v", i, got[i])
		}
	}
	r := e.requests[0]
	if len(e.requests) != 1 || r.URL.String() != "https://host.test/v1/embeddings" || r.Header.Get("Authorization") != "Bearer "+key {
		t.Errorf("%d requests, the first to %s with %v", len(e.requests), r.URL, r.Header)
	}
	if none, err := embedder(t, e, nil).Embed(t.Context(), nil); len(none) != 0 || err != nil || len(e.requests) != 1 {
		t.Errorf("nothing makes %v, %v", none, err)
	}
}

// The URL may be copied from an example of a request.
func TestEmbed_AtTheBaseOfItsURL(t *testing.T) {
	for _, url := range []string{
		"https://host.test/v1", "https://host.test/v1/", "https://host.test/v1/embeddings", "https://host.test/v1/embeddings/", "https://host.test/v1/Embeddings",
	} {
		e := &endpoint{answer: lengths}
		if _, err := embedder(t, e, func(o *openai.Options) { o.URL = url }).Embed(t.Context(), []string{"a"}); err != nil {
			t.Fatal(err)
		}
		if got := e.requests[0].URL.String(); got != "https://host.test/v1/embeddings" {
			t.Errorf("%s is asked at %s", url, got)
		}
	}
}

func TestModelNamesItsDimensions(t *testing.T) {
	e := &endpoint{}
	if got := embedder(t, e, nil).Model(); got != "small" {
		t.Error(got)
	}
	if got := embedder(t, e, func(o *openai.Options) { o.Dims = 256 }).Model(); got != "small@256" {
		t.Error(got)
	}
}

func TestTextsAreSentInBoundedBatches(t *testing.T) {
	e := &endpoint{answer: lengths}
	texts := make([]string, 150)
	for i := range texts {
		texts[i] = strings.Repeat("é", 1+i*200) // up to 59 KB
	}
	got, err := embedder(t, e, func(o *openai.Options) { o.MaxText = 10_001 }).Embed(t.Context(), texts)
	if err != nil || len(got) != len(texts) {
		t.Fatalf("%d vectors, %v", len(got), err)
	}
	sent := 0
	for _, input := range e.inputs {
		size := 0
		for _, text := range input {
			size += len(text)
			if len(text) > 10_000 || strings.Trim(text, "é") != "" {
				t.Errorf("a text of %d bytes was sent, or one cut inside a character", len(text))
			}
		}
		if len(input) > 64 || size > 256_000 {
			t.Errorf("%d texts of %d bytes at once", len(input), size)
		}
		sent += len(input)
	}
	if sent != len(texts) || got[0][0] >= got[1][0] {
		t.Errorf("%d texts sent; the first vectors are %v %v", sent, got[0], got[1])
	}
}

func TestPassingFaultsAreTriedAgain(t *testing.T) {
	cases := []struct {
		name   string
		fault  func() (*http.Response, error)
		faults int
		tries  int
		reason string
	}{
		{"busy once", func() (*http.Response, error) { return status(503) }, 1, 2, ""},
		{"too many requests", func() (*http.Response, error) { return status(429, "Retry-After", "7") }, 2, 3, ""},
		{"too early", func() (*http.Response, error) { return status(425) }, 1, 2, ""},
		{"unreachable", func() (*http.Response, error) { return nil, errors.New("dial proxy user:" + key) }, 3, 4, ""},
		{"busy for good", func() (*http.Response, error) { return status(500) }, 99, 4, "embedder_refused"},
		{"gone for good", func() (*http.Response, error) { return nil, errors.New("dial proxy user:" + key) }, 99, 4, "embedder_unavailable"},
		{"asks to wait too long", func() (*http.Response, error) { return status(429, "Retry-After", "59") }, 99, 2, "embedder_refused"},
		{"asks to wait for hours", func() (*http.Response, error) { return status(429, "Retry-After", "7200") }, 1, 2, ""},
		{"of another's certificate", func() (*http.Response, error) {
			return nil, &tls.CertificateVerificationError{Err: errors.New("for user:" + key)}
		}, 99, 1, "embedder_untrusted"},
		{"no quota", func() (*http.Response, error) {
			return refusal(429, `{"error":{"message":"no `+key+`","code":"insufficient_quota"}}`)
		}, 99, 1, "embedder_quota"},
		{"no balance", func() (*http.Response, error) { return refusal(402, "") }, 99, 1, "embedder_quota"},
		{"a fraction of a second", func() (*http.Response, error) { return status(429, "Retry-After", "0.5") }, 1, 2, ""},
		{"milliseconds", func() (*http.Response, error) { return status(503, "retry-after-ms", "20") }, 1, 2, ""},
		{"wrong key", func() (*http.Response, error) { return status(401) }, 99, 1, "embedder_refused"},
		{"wrong model", func() (*http.Response, error) { return status(404) }, 99, 1, "embedder_refused"},
		{"moved", func() (*http.Response, error) { return status(307, "Location", "https://other.test/") }, 99, 1, "embedder_refused"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &endpoint{answer: func(n int, input []string) (*http.Response, error) {
					if n < c.faults {
						return c.fault()
					}
					return lengths(n, input)
				}}
				_, err := embedder(t, e, nil).Embed(t.Context(), []string{"a"})
				if sdk.ReasonOf(err) != c.reason || len(e.requests) != c.tries {
					t.Errorf("%d tries: %v", len(e.requests), err)
				}
				if err != nil && (strings.Contains(fmt.Sprintf("%v %+v", err, sdk.AsError(err)), key) || sdk.AsError(err).Hint == "") {
					t.Errorf("the key shows, or there is no hint: %+v", sdk.AsError(err))
				}
			})
		})
	}
}

func TestRepliesAreChecked(t *testing.T) {
	cases := map[string]string{
		"not JSON":            `<html>`,
		"something else":      `{"error":"` + key + `"}`,
		"too few":             `{"data":[{"index":0,"embedding":[1]}]}`,
		"too many":            `{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1]},{"index":2,"embedding":[1]}]}`,
		"one twice":           `{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`,
		"no such text":        `{"data":[{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]}`,
		"negative":            `{"data":[{"index":0,"embedding":[1]},{"index":-1,"embedding":[1]}]}`,
		"different lengths":   `{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1,0]}]}`,
		"empty":               `{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[]}]}`,
		"zero":                `{"data":[{"index":0,"embedding":[1,0]},{"index":1,"embedding":[0,0]}]}`,
		"not finite":          `{"data":[{"index":0,"embedding":[1,0]},{"index":1,"embedding":[1e999,0]}]}`,
		"too many dimensions": strings.ReplaceAll(`{"data":[{"index":0,"embedding":[1-]},{"index":1,"embedding":[1-]}]}`, "-", strings.Repeat(",1", 1<<14)),
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			e := &endpoint{answer: func(int, []string) (*http.Response, error) { return body(text) }}
			_, err := embedder(t, e, nil).Embed(t.Context(), []string{"a", "b"})
			if sdk.ReasonOf(err) != "embedding_invalid" || len(e.requests) != 1 || strings.Contains(err.Error(), key) {
				t.Errorf("%d tries: %v", len(e.requests), err)
			}
		})
	}
}

func TestHugeRepliesAreCutOff(t *testing.T) {
	e := &endpoint{answer: func(int, []string) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: io.NopCloser(endless{})}, nil
	}}
	_, err := embedder(t, e, nil).Embed(t.Context(), []string{"a"})
	if sdk.ReasonOf(err) != "embedding_invalid" {
		t.Error(err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestEmbedEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		e := &endpoint{answer: func(int, []string) (*http.Response, error) { return status(503) }}
		_, err := embedder(t, e, nil).Embed(ctx, []string{"a"})
		if !errors.Is(err, context.DeadlineExceeded) || len(e.requests) != 1 {
			t.Errorf("%d tries: %v", len(e.requests), err)
		}
	})
}

func TestOptionsAreChecked(t *testing.T) {
	cases := []struct {
		name   string
		change func(*openai.Options)
		reason string
	}{
		{"no URL", func(o *openai.Options) { o.URL = "" }, "embedder_options_invalid"},
		{"a file", func(o *openai.Options) { o.URL = "file:///etc/passwd" }, "embedder_options_invalid"},
		{"a key in the URL", func(o *openai.Options) { o.URL = "https://u:" + key + "@h/v1" }, "embedder_options_invalid"},
		{"a key in the query", func(o *openai.Options) { o.URL = "https://h/v1?key=" + key }, "embedder_options_invalid"},
		{"a fragment", func(o *openai.Options) { o.URL = "https://h/v1#x" }, "embedder_options_invalid"},
		{"a key unencrypted", func(o *openai.Options) { o.URL = "http://h/v1" }, "embedder_options_invalid"},
		{"this machine may be asked so", func(o *openai.Options) { o.URL = "http://127.0.0.1:11434/v1" }, ""},
		{"also by its name", func(o *openai.Options) { o.URL = "http://localhost:11434/v1" }, ""},
		{"memories unencrypted", func(o *openai.Options) { o.URL, o.KeyEnv = "http://h/v1", "" }, "embedder_options_invalid"},
		{"no model", func(o *openai.Options) { o.Model = "" }, "embedder_options_invalid"},
		{"a long model", func(o *openai.Options) { o.Model = strings.Repeat("m", 257) }, "embedder_options_invalid"},
		{"negative dimensions", func(o *openai.Options) { o.Dims = -1 }, "embedder_options_invalid"},
		{"a long timeout", func(o *openai.Options) { o.Timeout = 2 * time.Hour }, "embedder_options_invalid"},
		{"dimensions", func(o *openai.Options) { o.Dims = 1 << 20 }, "embedder_options_invalid"},
		{"the key as its name", func(o *openai.Options) { o.KeyEnv = key }, "embedder_options_invalid"},
		{"no environment", func(o *openai.Options) { o.Getenv = nil }, "embedder_options_invalid"},
		{"a timeout", func(o *openai.Options) { o.Timeout = -1 }, "embedder_options_invalid"},
		{"a length", func(o *openai.Options) { o.MaxText = -1 }, "embedder_options_invalid"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			o := openai.Options{URL: "https://h/v1", Model: "m", KeyEnv: "K", Getenv: func(name string) string {
				return map[string]string{"K": key}[name]
			}}
			c.change(&o)
			_, err := openai.New(o)
			if sdk.ReasonOf(err) != c.reason || err != nil && strings.Contains(err.Error(), key) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A missing key only fails when something is embedded.
func TestTheKeyIsReadWhenItIsNeeded(t *testing.T) {
	for name, change := range map[string]func(*openai.Options){
		"an unset variable": func(o *openai.Options) { o.KeyEnv = "OTHER" },
		"a long key":        func(o *openai.Options) { o.Getenv = func(string) string { return strings.Repeat("k", 4097) } },
		"an odd key":        func(o *openai.Options) { o.Getenv = func(string) string { return key + "\r\nX: y" } },
	} {
		t.Run(name, func(t *testing.T) {
			e := &endpoint{answer: lengths}
			_, err := embedder(t, e, change).Embed(t.Context(), []string{"a"})
			if sdk.ReasonOf(err) != "embedder_key_missing" || strings.Contains(err.Error(), key) || len(e.requests) != 0 {
				t.Errorf("%v, after %d requests", err, len(e.requests))
			}
		})
	}
}
