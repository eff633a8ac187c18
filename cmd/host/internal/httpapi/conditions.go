package httpapi

import (
	"net/http"
	"reflect"
	"strings"

	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/sdk"
)

// HTTP has headers for repeating a request safely, for not sending what the caller already
// has, and for changing only what the caller has seen. The operations decide about all
// three; this file only passes the headers on.

// replayedHeader marks an outcome that comes from an earlier call with the same key.
const replayedHeader = "Idempotency-Replayed"

// conditions passes on a request's Idempotency-Key and If-Match.
func (a *API) conditions(r *request, rt *route, in any, c *operation.Call) error {
	key, err := oneHeader(r, "Idempotency-Key", MaxKey)
	if err != nil {
		return err
	}
	if key != "" && !rt.ReadOnly {
		c.IdempotencyKey, c.Replayed = key, &r.replayed
	}
	match, err := oneHeader(r, "If-Match", maxTag)
	if err != nil || match == "" {
		return err
	}
	version, isTag := strings.CutPrefix(match, `"`)
	version, closed := strings.CutSuffix(version, `"`)
	field, known := fieldsOf(rt.In())["if_version"]
	switch {
	case !known:
		return headerInvalid("If-Match", "this operation doesn't compare versions").WithHint("leave the header out")
	case !isTag || !closed || version == "" || strings.ContainsAny(version, `",`):
		return headerInvalid("If-Match", "it isn't one entity tag in quotes").WithHint(`send the ETag of an earlier answer, such as "3"`)
	}
	fieldAt(reflect.ValueOf(in).Elem(), field.index).SetString(version)
	return nil
}

// maxTag limits an entity tag, in bytes: ours are far shorter.
const maxTag = 128

// oneHeader is a header that may occur only once, with only visible characters; "" if it
// is missing.
func oneHeader(r *request, name string, limit int) (string, error) {
	values := r.http.Header.Values(name)
	if len(values) == 0 {
		return "", nil
	}
	if len(values) > 1 || values[0] == "" || len(values[0]) > limit || strings.ContainsFunc(values[0], func(c rune) bool { return c <= ' ' || c > '~' }) {
		return "", headerInvalid(name, "it isn't one value of visible characters").WithDetail("limit", limit)
	}
	return values[0], nil
}

func headerInvalid(name, why string) *sdk.Error {
	return sdk.Errorf(sdk.Invalid, "header_invalid", "%s: %s", name, why).WithDetail("header", name)
}

// versioned sets the ETag of a result that has a version. If the caller already has that
// version, it answers the GET with 304 and returns true.
func (a *API) versioned(w http.ResponseWriter, r *request, rt *route, out any) (done bool) {
	version := operation.EntityVersion(out)
	if version == "" {
		return false
	}
	tag := `"` + version + `"`
	w.Header().Set("ETag", tag)
	if rt.Method != http.MethodGet || !holds(r.http.Header.Values("If-None-Match"), tag) {
		return false
	}
	r.write(w, http.StatusNotModified, "", nil)
	return true
}

// holds reports whether the caller's entity tags include a tag, or are "*". A weak tag
// counts as a strong one, as RFC 9110 requires for this header.
func holds(values []string, tag string) bool {
	for one := range listed(values) {
		one = strings.TrimPrefix(strings.TrimSpace(one), "W/")
		if one == "*" || one == tag {
			return true
		}
	}
	return false
}
