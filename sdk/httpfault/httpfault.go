// Package httpfault determines what a failed HTTP exchange means for the next try.
// Everything that asks an endpoint uses the same rules: a judge's model, the embedder of
// recall, or a plugin of your own.
//
//	switch httpfault.Code(status, err) {
//	case sdk.Unavailable: // try again, not before httpfault.RetryAfter(header, now)
//	case sdk.Denied:      // nothing changes until somebody corrects a key or a certificate
//	default:              // the request itself is refused
//	}
package httpfault

import (
	"crypto/tls"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/reflectory/reflectory/sdk"
)

// Code is the class of a failed exchange. For an answer that refuses, it depends on the
// status. Without an answer (status 0), it depends on the transport's error.
//
//   - sdk.Unavailable: the same exchange may succeed later. The endpoint is busy or broken
//     (408, 425, 429, 5xx), or the connection failed.
//   - sdk.Denied: it refuses the key (401, 403), or its certificate can't be trusted.
//   - sdk.Invalid: it refuses the request. This includes any other status, even a redirect.
//
// The caller must check first whether a context has ended.
func Code(status int, err error) sdk.Code {
	switch status {
	case 0:
		var untrusted *tls.CertificateVerificationError
		if errors.As(err, &untrusted) {
			return sdk.Denied
		}
		return sdk.Unavailable
	case http.StatusUnauthorized, http.StatusForbidden:
		return sdk.Denied
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return sdk.Unavailable
	}
	if status >= 500 {
		return sdk.Unavailable
	}
	return sdk.Invalid
}

// maxRetryAfter limits what [RetryAfter] returns: longer than any call lasts.
const maxRetryAfter = 24 * time.Hour

// RetryAfter reads the Retry-After header, which is in seconds or an HTTP date, and
// returns how long to wait from now. The result is at most 24 hours, and 0 for anything
// else and for a time in the past.
func RetryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseInt(header, 10, 64); err == nil {
		return time.Duration(min(max(seconds, 0), int64(maxRetryAfter/time.Second))) * time.Second
	}
	if date, err := http.ParseTime(header); err == nil {
		return min(max(date.Sub(now), 0), maxRetryAfter)
	}
	return 0
}
