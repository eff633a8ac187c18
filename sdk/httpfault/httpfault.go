// Package httpfault says what a failed exchange over HTTP means for the next try, in one
// way for all that ask an endpoint: the model of a judge, the embedder of recall, a
// plugin of your own.
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

// Code is the class of a failed exchange: of an answer that refuses, by its status, or of
// none, with status 0, by what the transport returned.
//
//   - sdk.Unavailable: the same exchange may succeed later. The endpoint is busy or broken
//     (408, 425, 429, 5xx), or the connection failed.
//   - sdk.Denied: it refuses the key (401, 403), or its certificate can't be trusted.
//   - sdk.Invalid: it refuses the request. Any other status is one, also of a redirect.
//
// Whether a context has ended is the caller's to ask first.
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

// maxRetryAfter bounds what [RetryAfter] returns: longer than any call lasts.
const maxRetryAfter = 24 * time.Hour

// RetryAfter reads the header of that name: seconds or an HTTP date, of which it is how
// far that is from now. It is up to 24 hours, and 0 for anything else and for a time that
// has passed.
func RetryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseInt(header, 10, 64); err == nil {
		return time.Duration(min(max(seconds, 0), int64(maxRetryAfter/time.Second))) * time.Second
	}
	if date, err := http.ParseTime(header); err == nil {
		return min(max(date.Sub(now), 0), maxRetryAfter)
	}
	return 0
}
