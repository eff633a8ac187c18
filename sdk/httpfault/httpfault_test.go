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
		{500, nil, sdk.Unavailable},
		{529, nil, sdk.Unavailable},
	} {
		if got := httpfault.Code(c.status, c.err); got != c.want {
			t.Errorf("status %d, %v: %s, want %s", c.status, c.err, got, c.want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
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
		if got := httpfault.RetryAfter(header, now); got != want {
			t.Errorf("%q: %s, want %s", header, got, want)
		}
	}
}

// An answer that refuses, as a caller with a client of its own meets it.
func ExampleCode() {
	res := &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"30"}}}
	if httpfault.Code(res.StatusCode, nil) == sdk.Unavailable {
		fmt.Println("again in", httpfault.RetryAfter(res.Header.Get("Retry-After"), time.Now()))
	}
	// Output: again in 30s
}
