package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/job"
)

// queueReembed queues a job in the world's store, as a program in Go does.
func (w *world) queueReembed() string {
	w.t.Helper()
	settings, err := config.Load(config.Sources{Getenv: func(k string) string { return w.env[k] }})
	if err != nil {
		w.t.Fatal(err)
	}
	h, err := host.Open(w.t.Context(), host.Config{Settings: settings})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx := core.WithCaller(w.t.Context(), core.Operator("tester"))
	out, err := operation.Do(ctx, operation.Call{Host: h}, "job_enqueue", &operation.JobEnqueue{Type: job.Reembed, Namespace: "a"})
	if err := core.JoinErrors(err, h.Close()); err != nil {
		w.t.Fatal(err)
	}
	return out.(*operation.JobQueued).JobID
}

// TestJobs_WithoutAServer: the list says that nobody works, and jobs work does.
func TestJobs_WithoutAServer(t *testing.T) {
	w := newWorld(t)
	first := w.queueReembed()
	_, out, errs := w.run(t.Context(), "jobs", "list")
	if !strings.Contains(out, first) || !strings.Contains(errs, "no_worker") || !strings.Contains(errs, "jobs work") {
		t.Errorf("%s\n%s", out, errs)
	}
	if out, _ := w.ok("jobs", "list", "--json", "--status", "queued"); !strings.Contains(out, `"no_worker": true`) || !strings.Contains(out, first) {
		t.Error(out)
	}
	if _, errs := w.ok("jobs", "work", "--until-idle"); !strings.Contains(errs, "nothing waits") {
		t.Error(errs)
	}
	if out, _ := w.ok("jobs", "show", first[:13]); !strings.Contains(out, "completed (done)") || !strings.Contains(out, "memory_reembed") {
		t.Error(out)
	}
	if _, errs := w.ok("jobs", "cancel", first); !strings.Contains(errs, "has ended: it is completed") {
		t.Error(errs)
	}
	second := w.queueReembed()
	var done operation.JobCancelled
	out, _ = w.ok("jobs", "cancel", second, "--json")
	if err := json.Unmarshal([]byte(out), &done); err != nil || !done.Cancelled || done.Status != job.StatusCancelled {
		t.Errorf("%+v, %v", done, err)
	}
	if code, _, errs := w.run(t.Context(), "jobs", "show", "ffffffff-0000"); code != exitFailure || !strings.Contains(errs, "there is no job") || !strings.Contains(errs, "reflectory jobs list") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// TestRun_DetachedOnAServer: the server makes the run while the command has ended.
func TestRun_DetachedOnAServer(t *testing.T) {
	w := newWorld(t)
	w.serve()
	file := w.file("passes.yaml", "nodes: [{name: a, action: lua.run, with: {code: return state.word}}]\n")
	out, errs := w.ok("run", "--detach", file, "--state", "word=ada")
	if strings.Contains(errs, "no server") {
		t.Error(errs)
	}
	until(t, "the run ends", func() bool {
		_, shown, _ := w.run(t.Context(), "runs", "show", strings.TrimSpace(out))
		return strings.Contains(shown, "status    passed")
	})
}

// TestJobs_WithAServer: it works on them, and jobs work has nothing to do.
func TestJobs_WithAServer(t *testing.T) {
	w := newWorld(t)
	id := w.queueReembed()
	s := w.serve()
	until(t, "the job ends", func() bool { out, _ := w.ok("jobs", "show", id); return strings.Contains(out, "completed") })
	if out, _ := w.ok("jobs", "list", "--json"); strings.Contains(out, "no_worker") {
		t.Error(out)
	}
	if code, _, errs := w.run(t.Context(), "jobs", "work"); code != exitFailure || !strings.Contains(errs, "works on its jobs") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if code := s.stop(); code != exitPassed {
		t.Errorf("exit %d", code)
	}
}
