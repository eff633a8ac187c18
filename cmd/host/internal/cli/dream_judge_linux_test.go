//go:build linux

package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/reflectory/reflectory/core/dream"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/memory"
)

var judgeCalls = regexp.MustCompile(`(?m)^reflectory_plugin_calls_total\{code="ok",plugin="test/guest",role="evaluate"\} (\d+)$`)

// TestDream_AJudgeIsAskedOncePerPair, over HTTP and by a command: a WASM module that finds that all
// texts say the same decides about texts that differ a little, and isn't asked about a negation.
func TestDream_AJudgeIsAskedOncePerPair(t *testing.T) {
	w := newKillWorld(t)
	suspect{module: "guest.wasm"}.install(t, filepath.Join(w.dir, "plugins"), "test")
	w.env = append(w.env, "REFLECTORY_EMBEDDINGS_MODEL=small", "REFLECTORY_EMBEDDINGS_URL="+topicServer(t).URL+"/v1")
	w.took("dream", "calibrate", "--pairs", writeDoorPairs(t, w.dir))
	server, at := w.serve()
	for _, content := range []string{"door 7 is red", "door 7 is blue", "door 7 is not red", "door 8 is red", "door 8 is blue"} {
		w.took("memory", "observe", "--namespace", "team/a", "--content", content)
	}
	get := func(method, path string, in, out any) {
		t.Helper()
		answer := w.ask(at, method, path, in)
		if answer == nil || answer.StatusCode > http.StatusAccepted {
			t.Fatalf("%s: %+v", path, answer)
		}
		defer answer.Body.Close()
		if err := json.NewDecoder(answer.Body).Decode(out); err != nil {
			t.Fatal(err)
		}
	}
	asked := func(want string) {
		t.Helper()
		answer := w.ask(at, "GET", "/metrics", nil)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if got := judgeCalls.FindSubmatch(text); err != nil || got == nil || string(got[1]) != want {
			t.Errorf("the judge was asked %q times, want %s: %v", got, want, err)
		}
	}

	var queued operation.JobQueued
	get("POST", "/v1/dream/plans", &operation.DreamPlan{DreamPass: operation.DreamPass{Namespace: "team/a", Judge: "test/guest"}}, &queued)
	w.awaitEnd(at, queued.JobID)
	var done job.Job
	get("GET", "/v1/jobs/"+queued.JobID, nil, &done)
	var plans operation.Page[*memory.DreamRun]
	get("GET", "/v1/dream/plans?namespace=team/a", nil, &plans)
	if done.Status != job.StatusCompleted || len(plans.Items) != 1 {
		t.Fatalf("%+v, plans %+v", done, plans.Items)
	}
	var planned operation.DreamShown
	get("GET", "/v1/dream/plans/"+plans.Items[0].ID, nil, &planned)
	for _, s := range planned.Plan.Steps {
		if s.Kind != dream.StepMerge || s.Evidence["judged"] != dream.Value {
			t.Errorf("step %+v", s)
		}
	}
	for _, r := range planned.Plan.Refusals {
		if r.Class != dream.Negation {
			t.Errorf("refused %+v", r)
		}
	}
	if len(planned.Plan.Steps) != 2 || len(planned.Plan.Refusals) != 2 {
		t.Errorf("%+v", planned.Plan)
	}
	asked("2")

	var report memory.DreamReport
	if code := w.json(&report, "dream", "run", "team/a", "--judge", "test/guest"); code != exitPassed || report.Consolidated != 2 || report.MergeRefusals[dream.Negation] != 2 {
		t.Errorf("exit %d: %+v", code, report)
	}
	asked("4")
	w.terminate(server, server.Process)
}
