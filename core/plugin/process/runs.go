package process

import (
	"slices"
	"sync"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// maxRuns is how many runs may be named by an instance's lines: the runs of its last
// calls. A line arrives at most shortly after its call.
const maxRuns = 16

// runField is the field in which a plugin's logger names the run. package
// sdk/process sets it from a call's context.
const runField = "run_id"

// runs remembers the runs that an instance works on.
type runs struct {
	mu     sync.Mutex
	recent []string // the last one last
	serial bool     // whether the instance takes one call at a time
}

// setSerial records that the instance takes one call at a time, so that what it writes
// belongs to the latest call.
func (r *runs) setSerial() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.serial = true
}

// enter records the run of a call; "" is none.
func (r *runs) enter(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.recent); n > 0 && r.recent[n-1] == id {
		return
	}
	if r.recent = append(r.recent, id); len(r.recent) > maxRuns {
		r.recent = slices.Delete(r.recent, 0, 1)
	}
}

// tag sets a line's run: the one that the plugin names, if the instance worked on it;
// otherwise the run of the last call, if calls are made one at a time.
func (r *runs) tag(l *plugin.LogLine) {
	r.mu.Lock()
	defer r.mu.Unlock()
	claimed, _ := l.Fields[runField].(string)
	switch {
	case claimed != "" && slices.Contains(r.recent, claimed):
		l.RunID = claimed
		delete(l.Fields, runField)
	case r.serial && len(r.recent) > 0:
		l.RunID = r.recent[len(r.recent)-1]
	}
}

// enterAll records the runs of a batch.
func enterAll[R any](r *runs, reqs []*R, call func(*R) sdk.Call) {
	for _, req := range reqs {
		r.enter(call(req).RunID)
	}
}
