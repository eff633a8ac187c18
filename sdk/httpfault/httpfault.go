// Package httpfault determines what a failed HTTP exchange means for the next try.
// Everything that asks an endpoint uses the same rules: a judge's model, the embedder of
// recall, or a plugin of your own.
//
//	switch httpfault.Code(status, err) {
//	case sdk.Unavailable: // try again, not before httpfault.Wait(header, now)
//	case sdk.Denied:      // nothing changes until somebody corrects a key or a certificate
//	case sdk.Exhausted:   // nothing changes until somebody pays; see also httpfault.Quota
//	default:              // the request itself is refused
//	}
//
// It is internal to Reflectory: its API may change in any release.
package httpfault

import (
	"crypto/tls"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/reflectory/reflectory/sdk"
)

// Code is the class of a failed exchange. For an answer that refuses, it depends on the
// status. Without an answer (status 0), it depends on the transport's error.
//
//   - sdk.Unavailable: the same exchange may succeed later. The endpoint is busy or broken
//     (408, 425, 429, 5xx), or the connection failed.
//   - sdk.Denied: it refuses the key (401, 403), or its certificate can't be trusted.
//   - sdk.Exhausted: it wants to be paid (402).
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
	case http.StatusPaymentRequired:
		return sdk.Exhausted
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return sdk.Invalid
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return sdk.Unavailable
	}
	if status >= 500 {
		return sdk.Unavailable
	}
	return sdk.Invalid
}

// quota matches what endpoints of models say when an account has no quota or credit left.
var quota = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\binsufficient[_ ](user[_ ]|account[_ ])?(quota|balance|credits?|funds)\b` +
		`|\bexceeded_current_quota|\bbilling_(hard_limit_reached|not_active|error)\b|\bbilling hard limit\b|\bbudget_exceeded\b` +
		`|\bcredit balance is too low\b|\bout of credits?\b`)
})

// Quota reports whether an answer that refuses says that the account's quota or credit is
// used up, which no later try changes. Many endpoints say so with the status of a rate limit
// (429), in the answer's body.
func Quota(status int, body []byte) bool {
	if status == http.StatusPaymentRequired || quota().Match(body) {
		return true
	}
	// These words are also those of a limit per minute, which has a status of its own.
	text := strings.ToLower(string(body))
	return strings.Contains(text, "exceeded your current quota") && !strings.Contains(text, "resource_exhausted") && !strings.Contains(text, "retrydelay")
}

// maxWait limits what [Wait] returns: longer than any call lasts.
const maxWait = 24 * time.Hour

// Wait is how long from now the answer asks to wait: by Retry-After-Ms, in milliseconds,
// else by Retry-After, in seconds or as a date. Both may be fractions. The result is at most 24
// hours, and 0 for anything else and for a time in the past.
func Wait(header http.Header, now time.Time) time.Duration {
	if wait, ok := number(header.Get("Retry-After-Ms"), time.Millisecond); ok {
		return wait
	}
	text := strings.TrimSpace(header.Get("Retry-After"))
	if wait, ok := number(text, time.Second); ok {
		return wait
	}
	date, err := http.ParseTime(text)
	for _, form := range []string{time.RFC1123, time.RFC1123Z, time.RFC3339} {
		if err != nil {
			date, err = time.Parse(form, text)
		}
	}
	if err != nil {
		return 0
	}
	return min(max(date.Sub(now), 0), maxWait)
}

// number reads a decimal number of units: no sign, no exponent.
func number(text string, unit time.Duration) (time.Duration, bool) {
	text = strings.TrimSpace(text)
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.Trim(text, "0123456789.") != "" {
		return 0, false
	}
	return time.Duration(min(n*float64(unit), float64(maxWait))), true
}
