package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/host/operation/operationtest"
)

// TestAccess_WhatIsHiddenIsAsIfItWereNot: without credentials, or with ones that are expired,
// revoked, or for another audience or namespace, requests for a thing, a list and a stream are
// answered as if it didn't exist, in status, headers and body. Only the last reaches the tools for
// agents.
func TestAccess_WhatIsHiddenIsAsIfItWereNot(t *testing.T) {
	d := newDoor(t, newIssuer(t))
	reached := ""
	d.api.config.Mounts = map[string]http.Handler{"/mcp": http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reached = r.Header.Get("Authorization") })}
	const absent, nowhere = "00000000-0000-7000-8000-00000000ffff", "not/there"
	memory, run, job := d.Memory(), d.Run(operationtest.Here), d.Job(operationtest.Here)
	same := strings.NewReplacer(memory, "ID", run, "ID", job, "ID", absent, "ID", operationtest.Here, "NAMESPACE", nowhere, "NAMESPACE")
	ask := func(who, method, path string) *answer {
		r := d.request("", method, path, "")
		if who != "none" {
			r.Header.Set("Authorization", "Bearer "+d.tokens[who])
		}
		return serve(d.api.Remote(), r)
	}
	for who, known := range map[string]bool{"none": false, "expired": false, "revoked": false, "wrong audience": false, "elsewhere": true} {
		for there, away := range map[string]string{
			"/v1/memories/" + memory:                       "/v1/memories/" + absent,
			"/v1/memories/" + memory + "/explain":          "/v1/memories/" + absent + "/explain",
			"/v1/runs/" + run:                              "/v1/runs/" + absent,
			"/v1/jobs/" + job:                              "/v1/jobs/" + absent,
			"/v1/memories?namespace=" + operationtest.Here: "/v1/memories?namespace=" + nowhere,
			"/v1/runs?namespace=" + operationtest.Here:     "/v1/runs?namespace=" + nowhere,
			"/v1/runs/" + run + "/events":                  "/v1/runs/" + absent + "/events",
			"/v1/jobs/" + job + "/events":                  "/v1/jobs/" + absent + "/events",
			"/v1/events?namespace=" + operationtest.Here:   "/v1/events?namespace=" + nowhere,
		} {
			one, two := ask(who, "GET", there), ask(who, "GET", away)
			want := http.StatusUnauthorized
			if known {
				want = map[bool]int{true: http.StatusForbidden, false: http.StatusNotFound}[strings.Contains(there, "=")]
			}
			if one.StatusCode != want {
				t.Errorf("%s, %s: %d, want %d", who, there, one.StatusCode, want)
			}
			if x, y := d.shown(one, same), d.shown(two, same); x != y {
				t.Errorf("%s, %s: %s\nand what isn't there: %s", who, there, x, y)
			}
		}
		reached = ""
		if a := ask(who, "POST", "/mcp"); (a.StatusCode != http.StatusUnauthorized) != known || (reached != "") != known {
			t.Errorf("%s reaches the tools %q: %d", who, reached, a.StatusCode)
		}
	}
}

// shown is everything in a refusal except its trace and the names in it.
func (d *door) shown(a *answer, same *strings.Replacer) string {
	d.T.Helper()
	var headers strings.Builder
	a.Header.Del("Traceparent")
	d.Must(a.Header.Write(&headers))
	return same.Replace(strings.ReplaceAll(headers.String()+a.body, a.problem(d.T).TraceID, ""))
}
