package httpapi

import (
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/jsontext"
)

// Long work is a job over a network. A caller that wants the result in one request says for how long
// it waits, with the header Prefer of RFC 7240: the answer is the result if the job ends in time,
// otherwise the job, as without the header.

// preferences are what a request prefers.
type preferences struct {
	// wait is for how many seconds it waits for a job, up to [operation.MaxWait]; 0 is not at all.
	wait int
	// async is whether work that could be done at once is to be a job too.
	async bool
}

// preferencesOf reads the header Prefer. What it doesn't understand is ignored, as the RFC requires.
func preferencesOf(h http.Header) (p preferences) {
	waits := false
	for one := range listed(h.Values("Prefer")) {
		one, _, _ = strings.Cut(one, ";")
		name, value, _ := strings.Cut(one, "=")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "respond-async":
			p.async = true
		case "wait":
			n, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 16)
			if err == nil && !waits { // the first one counts
				p.wait, waits = min(int(n), operation.MaxWait), true
			}
		}
	}
	return p
}

// applied tells the caller for how long the answer waits.
func (p preferences) applied(w http.ResponseWriter) {
	w.Header().Set("Preference-Applied", "wait="+strconv.Itoa(p.wait))
}

// setWait makes a request that can wait do so, unless it says itself for how long.
func (p preferences) setWait(w http.ResponseWriter, rt *route, in any) {
	field, waits := fieldsOf(rt.In())["wait"]
	if !waits || p.wait == 0 {
		return
	}
	if wait := fieldAt(reflect.ValueOf(in).Elem(), field.index); wait.Int() == 0 {
		wait.SetInt(int64(p.wait))
		p.applied(w)
	}
}

// await waits for the end of a job that a request has queued, and answers with the result. It reports
// whether the job ended in time. The job goes on if the caller goes away.
func (a *API) await(w http.ResponseWriter, r *request, p preferences, queued *operation.JobQueued) bool {
	if p.wait == 0 {
		return false
	}
	p.applied(w)
	in := &operation.JobResultGet{ID: queued.JobID, Waiting: operation.Waiting{Wait: p.wait}}
	out, err := a.routes["job_result"].Do(core.WithCaller(r.http.Context(), r.caller), operation.Call{Host: a.config.Host, Stopping: a.draining}, in)
	result, is := out.(*operation.JobResult)
	if err != nil || !is || !result.Status.Terminal() {
		return false // the answer is the job, as if the caller hadn't waited
	}
	if result.Status != job.StatusCompleted {
		var came any
		if len(result.Result) > 0 {
			came = result.Result
		}
		a.problems.refuseWith(w, r, result.Err(), came)
		return true
	}
	text, err := jsontext.Line(result.Result)
	if err != nil {
		a.problems.refuse(w, r, err)
		return true
	}
	r.write(w, http.StatusOK, "application/json", text)
	return true
}
