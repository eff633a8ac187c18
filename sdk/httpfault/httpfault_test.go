package httpfault_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/httpfault"
)

func TestCode(t *testing.T) {
	untrusted := &url.Error{Op: "Post", Err: &tls.CertificateVerificationError{Err: errors.New("unknown authority")}}
	for _, c := range []struct {
		status int
		err    error
		want   sdk.Code
	}{
		{0, io.ErrUnexpectedEOF, sdk.Unavailable},
		{0, nil, sdk.Unavailable},
		{0, untrusted, sdk.Denied},
		{307, nil, sdk.Invalid},
		{400, nil, sdk.Invalid},
		{401, nil, sdk.Denied},
		{403, nil, sdk.Denied},
		{404, nil, sdk.Invalid},
		{408, nil, sdk.Unavailable},
		{425, nil, sdk.Unavailable},
		{429, nil, sdk.Unavailable},
		{402, nil, sdk.Exhausted},
		{500, nil, sdk.Unavailable},
		{501, nil, sdk.Invalid},
		{529, nil, sdk.Unavailable},
	} {
		if got := httpfault.Code(c.status, c.err); got != c.want {
			t.Errorf("status %d, %v: %s, want %s", c.status, c.err, got, c.want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		header http.Header
		want   time.Duration
	}{
		{http.Header{}, 0},
		{http.Header{"Retry-After": {"1.5"}}, 1500 * time.Millisecond},
		{http.Header{"Retry-After": {"0.02"}}, 20 * time.Millisecond},
		{http.Header{"Retry-After": {" 3 "}}, 3 * time.Second},
		{http.Header{"Retry-After": {".5"}}, 500 * time.Millisecond},
		{http.Header{"Retry-After-Ms": {"250"}}, 250 * time.Millisecond},
		{http.Header{"Retry-After-Ms": {"250"}, "Retry-After": {"9"}}, 250 * time.Millisecond},
		{http.Header{"Retry-After-Ms": {"soon"}, "Retry-After": {"9"}}, 9 * time.Second},
		{http.Header{"Retry-After-Ms": {"1e3"}}, 0},
		{http.Header{"Retry-After-Ms": {"-1"}}, 0},
		{http.Header{"Retry-After-Ms": {"99999999999999999999"}}, 24 * time.Hour},
		{http.Header{"Retry-After": {"NaN"}}, 0},
		{http.Header{"Retry-After": {"+Inf"}}, 0},
		{http.Header{"Retry-After": {"0x10"}}, 0},
		{http.Header{"Retry-After": {"."}}, 0},
		{http.Header{"Retry-After": {"1.2.3"}}, 0},
		{http.Header{"Retry-After": {"1,5"}}, 0},
		{http.Header{"Retry-After": {"Sun, 01 Mar 2026 10:00:07 +0100"}}, 7 * time.Second},
		{http.Header{"Retry-After": {"Sunday, 01-Mar-26 09:00:07 GMT"}}, 7 * time.Second},
		{http.Header{"Retry-After": {"2026-03-01T09:00:07Z"}}, 7 * time.Second},
	} {
		if got := httpfault.Wait(c.header, now); got != c.want {
			t.Errorf("%v: %s, want %s", c.header, got, c.want)
		}
	}
	for header, want := range map[string]time.Duration{
		"":                              0,
		"7":                             7 * time.Second,
		"-5":                            0,
		"soon":                          0,
		"9223372036854775807":           24 * time.Hour,
		"Sun, 01 Mar 2026 09:00:07 GMT": 7 * time.Second,
		"Mon, 01 Jan 1990 00:00:00 GMT": 0,
		"Fri, 01 Jan 9999 00:00:00 GMT": 24 * time.Hour,
	} {
		if got := httpfault.Wait(http.Header{"Retry-After": {header}}, now); got != want {
			t.Errorf("%q: %s, want %s", header, got, want)
		}
	}
}

// An answer that refuses, as a caller with a client of its own meets it.
func ExampleCode() {
	res := &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"30"}}}
	if httpfault.Code(res.StatusCode, nil) == sdk.Unavailable {
		fmt.Println("again in", httpfault.Wait(res.Header, time.Now()))
	}
	// Output: again in 30s
}
