package llmeval_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/plugins/llm-eval/llmeval"
	"github.com/reflectory/reflectory/sdk"
)

// exchange is what a scripted transport does with one request.
type exchange func(*http.Request) (*http.Response, error)

// transport does the exchanges of a script in order and then repeats the last. It uses
// no sockets, so a test controls its own time.
type transport struct {
	script []exchange
	times  []time.Time
}

func (tr *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	tr.times = append(tr.times, time.Now())
	do := tr.script[0]
	if len(tr.script) > 1 {
		tr.script = tr.script[1:]
	}
	return do(r)
}

func answer(status int, body string, header ...string) exchange {
	return func(*http.Request) (*http.Response, error) {
		h := http.Header{"Content-Type": {"application/json"}}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

func broken(err error) exchange {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// silent never answers.
func silent(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// slowBody answers, and then sends nothing.
func slowBody(r *http.Request) (*http.Response, error) {
	body, end := io.Pipe()
	context.AfterFunc(r.Context(), func() { end.CloseWithError(r.Context().Err()) })
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body}, nil
}

var good = answer(200, `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`)

// call sends one question through a scripted transport in the test's own time, and
// returns when each try began.
func call(ctx context.Context, t *testing.T, script ...exchange) ([]time.Duration, *sdk.GenerateResponse, error) {
	t.Helper()
	tr := &transport{script: script}
	p := llmeval.Plugin(llmeval.Options{Getenv: getenv, Transport: tr})
	config := object{"prompt": "p", "llm": object{"provider": "openai", "base_url": "http://llm.test/v1", "model": "m", "timeout": "20s"}}
	start := time.Now()
	res, err := prepare(t, p.Generator, mustJSON(config)).Generate(ctx, &sdk.GenerateRequest{})
	var began []time.Duration
	for _, at := range tr.times {
		began = append(began, at.Sub(start))
	}
	return began, res, err
}

func TestPassingFaultsAreTriedAgain(t *testing.T) {
	cut := `{"choices":[{"message":{"cont`
	for name, fault := range map[string]exchange{
		"429": answer(429, ""), "408": answer(408, ""), "425": answer(425, ""), "500": answer(500, "<html>"), "502": answer(502, ""), "503": answer(503, ""), "529": answer(529, ""),
		"connection lost": broken(io.EOF),
		"truncated JSON":  answer(200, cut), "empty body": answer(200, ""), "no answer": silent, "slow body": slowBody,
		"429 within a 200":       answer(200, `{"error":{"code":429,"message":"slow down"}}`),
		"unreadable Retry-After": answer(503, "", "Retry-After", "soon"), "Retry-After in the past": answer(503, "", "Retry-After", "Mon, 01 Jan 1990 00:00:00 GMT"),
		"negative Retry-After": answer(503, "", "Retry-After", "-5"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, res, err := call(t.Context(), t, fault, good)
				if err != nil {
					t.Fatal(err)
				}
				wait := began[1]
				if name == "no answer" || name == "slow body" {
					wait -= 20 * time.Second // llm.timeout
				}
				if len(began) != 2 || wait < 375*time.Millisecond || wait > 625*time.Millisecond || res.Metadata["tries"] != "2" {
					t.Errorf("tries at %v, metadata %v", began, res.Metadata)
				}
			})
		})
	}
}

// The host gives a judge 120 s: a try without an answer leaves time for another.
func TestAJudgesTimeHasRoomForTwoTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 120*time.Second)
		defer cancel()
		tr := &transport{script: []exchange{silent, answer(200, `{"choices":[{"message":{"content":"{\"pass\":true}"},"finish_reason":"stop"}]}`)}}
		p := llmeval.Plugin(llmeval.Options{Getenv: getenv, Transport: tr})
		config := object{"llm": object{"provider": "openai", "base_url": "http://llm.test/v1", "model": "m"}}
		res, err := prepare(t, p.Evaluator, mustJSON(config)).Evaluate(ctx, &sdk.EvaluateRequest{Output: []byte(`1`)})
		if err != nil || !res.Verdict.Valid || res.Metadata["tries"] != "2" {
			t.Errorf("%+v, %v after tries at %v", res, err, tr.times)
		}
	})
}

func TestEveryTryCarriesTheStepsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var keys []string
		noting := func(do exchange) exchange {
			return func(r *http.Request) (*http.Response, error) {
				keys = append(keys, r.Header.Get("Idempotency-Key"))
				return do(r)
			}
		}
		tr := &transport{script: []exchange{noting(answer(503, "")), noting(broken(io.EOF)), noting(good)}}
		p := llmeval.Plugin(llmeval.Options{Getenv: getenv, Transport: tr})
		config := object{"prompt": "p", "llm": object{"provider": "openai", "base_url": "http://llm.test/v1", "model": "m"}}
		req := &sdk.GenerateRequest{Call: sdk.Call{IdempotencyKey: "run/2/generate"}}
		if _, err := prepare(t, p.Generator, mustJSON(config)).Generate(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		if want := []string{"run/2/generate", "run/2/generate", "run/2/generate"}; !slices.Equal(keys, want) {
			t.Errorf("the tries carried %q", keys)
		}
	})
}

func TestTriesEnd(t *testing.T) {
	for name, test := range map[string]struct {
		fault exchange
		says  string
	}{
		"500":         {answer(500, `{"error":{"message":"boom"}}`), "500 Internal Server Error: boom"},
		"no answer":   {silent, "no complete reply within llm.timeout (20s)"},
		"truncated":   {answer(200, `{"a":`), "cut off after 5 bytes"},
		"wrapped URL": {broken(errors.New("odd")), "odd"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, _, err := call(t.Context(), t, test.fault)
				e := sdkError(t, err)
				if e.Code != sdk.Unavailable || e.Reason != "llm_unavailable" || !strings.Contains(e.Message, test.says) ||
					!strings.Contains(e.Message, "http://llm.test/v1 gave no reply after 4 of 4 tries") || e.Details["tries"] != 4 {
					t.Errorf("error %s: %s %v", e.Reason, e.Message, e.Details)
				}
				if len(began) != 4 {
					t.Errorf("tries at %v", began)
				}
			})
		})
	}
}

// TestTries_UnreachableEndpointGetsOne: the host repeats the call, and nothing heals within seconds.
func TestTries_UnreachableEndpointGetsOne(t *testing.T) {
	dialed := func(err error) exchange { return broken(&net.OpError{Op: "dial", Net: "tcp", Err: err}) }
	for name, fault := range map[string]exchange{
		"refused":               broken(syscall.ECONNREFUSED),
		"refused, dialled":      dialed(os.NewSyscallError("connect", syscall.ECONNREFUSED)),
		"no such host":          dialed(&net.DNSError{Err: "no such host", Name: "llm.test", IsNotFound: true}),
		"refused by the host":   broken(sdk.Errorf(sdk.Unavailable, "network_unreachable", "llm.test:80: connection refused")),
		"untrusted certificate": broken(&tls.CertificateVerificationError{Err: errors.New("unknown authority")}),
	} {
		t.Run(name, func(t *testing.T) {
			began, _, err := call(t.Context(), t, fault)
			if e := sdkError(t, err); len(began) != 1 || e.Hint == "" || strings.Contains(e.Message, " of 4") {
				t.Errorf("%d tries: %s (%s)", len(began), e.Message, e.Hint)
			}
		})
	}
	for name, fault := range map[string]exchange{
		"lost":             broken(io.EOF),
		"reset":            dialed(syscall.ECONNRESET),
		"resolver is busy": dialed(&net.DNSError{Err: "server misbehaving", Name: "llm.test", IsTemporary: true}),
		"busy":             answer(503, ""),
	} {
		synctest.Test(t, func(t *testing.T) {
			if began, _, _ := call(t.Context(), t, fault); len(began) != 4 {
				t.Errorf("%s: %d tries", name, len(began))
			}
		})
	}
}

func TestDelaysDouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, _, _ := call(t.Context(), t, answer(503, ""))
		for i, want := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second} {
			if got := began[i+1] - began[i]; got < want*3/4 || got > want*5/4 {
				t.Errorf("delay %d is %s", i+1, got)
			}
		}
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	for name, header := range map[string]func() string{
		"seconds":    func() string { return "7" },
		"a fraction": func() string { return "7.0" },
		"spaces":     func() string { return " 7 " },
		"date":       func() string { return time.Now().Add(7 * time.Second).UTC().Format(http.TimeFormat) },
		"date, zone": func() string { return time.Now().Add(7 * time.Second).Format(time.RFC1123Z) },
		"date, ISO":  func() string { return time.Now().Add(7 * time.Second).Format(time.RFC3339) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				began, _, err := call(ctx, t, answer(429, "", "Retry-After", header()), good)
				if err != nil || len(began) != 2 || began[1] != 7*time.Second {
					t.Errorf("tries at %v, error %v", began, err)
				}
			})
		})
	}
}

func TestRetryAfter_InMilliseconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, _, err := call(t.Context(), t, answer(429, "", "Retry-After-Ms", "1500.5", "Retry-After", "7"), good)
		if err != nil || len(began) != 2 || began[1] != 1500500*time.Microsecond {
			t.Errorf("tries at %v, error %v", began, err)
		}
	})
}

func TestWaitBeyondTheDeadlineFailsAtOnce(t *testing.T) {
	for name, test := range map[string]struct {
		timeout time.Duration
		answer  exchange
		says    string
	}{
		"Retry-After":             {30 * time.Second, answer(429, "", "Retry-After", "60"), "asks to wait 1m0s (Retry-After), and the call may last only 30s more"},
		"Retry-After, absurd":     {30 * time.Second, answer(429, "", "Retry-After", "9223372036854775807"), "asks to wait 24h0m0s"},
		"Retry-After, no end set": {0, answer(503, "", "Retry-After", "121"), "asks to wait 2m1s (Retry-After), and the call may last only 2m0s more"},
		"own delay":               {100 * time.Millisecond, answer(503, ""), "the next try would be in"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if test.timeout > 0 {
					limited, cancel := context.WithTimeout(ctx, test.timeout)
					defer cancel()
					ctx = limited
				}
				start := time.Now()
				began, _, err := call(ctx, t, test.answer)
				e := sdkError(t, err)
				if e.Code != sdk.Unavailable || e.Reason != "llm_unavailable" || !strings.Contains(e.Message, test.says) {
					t.Errorf("error %s: %s", e.Reason, e.Message)
				}
				if len(began) != 1 || time.Since(start) != 0 {
					t.Errorf("tries at %v, took %s", began, time.Since(start))
				}
			})
		})
	}
}

func TestDeadlineAndCancellationEndTheCall(t *testing.T) {
	for name, test := range map[string]struct {
		script  []exchange
		timeout time.Duration
		cancel  time.Duration
		code    sdk.Code
		says    string
	}{
		"deadline while waiting for an answer": {[]exchange{silent}, 5 * time.Second, 0, sdk.Timeout, "stopped while waiting for http://llm.test/v1 (try 1)"},
		"deadline in a later try":              {[]exchange{answer(503, ""), silent}, 5 * time.Second, 0, sdk.Timeout, "(try 2)"},
		"cancelled while waiting to try again": {[]exchange{answer(503, "", "Retry-After", "30")}, time.Hour, 3 * time.Second, sdk.Cancelled, "the last answer was 503"},
		"cancelled in the body":                {[]exchange{slowBody}, time.Hour, 3 * time.Second, sdk.Cancelled, "(try 1)"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), test.timeout)
				defer cancel()
				want := test.timeout
				if test.cancel > 0 {
					want = test.cancel
					defer time.AfterFunc(test.cancel, cancel).Stop()
				}
				start := time.Now()
				_, _, err := call(ctx, t, test.script...)
				e := sdkError(t, err)
				if e.Code != test.code || !strings.Contains(e.Message, test.says) || time.Since(start) != want {
					t.Errorf("after %s: error %s: %s", time.Since(start), e.Code, e.Message)
				}
			})
		})
	}
}
