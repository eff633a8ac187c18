package mcpserver

import (
	"fmt"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
)

// TestTask_OfAPassOfHousekeeping: a caller that may only write memories gets a plan and a pass
// as tasks, whose results are the plan and the report. A client that doesn't know tasks asks for
// the job. What was done can be undone at once.
func TestTask_OfAPassOfHousekeeping(t *testing.T) {
	w := operationtest.New(t)
	s := newServerOf(t, w)
	for i := range 3 {
		_, err := w.Host.Memories.Observe(w.Ctx, &core.ObserveRequest{Namespace: operationtest.Here, Content: fmt.Sprintf("The ferry %d left yesterday.", i)})
		w.Must(err)
	}
	me := core.Caller{Subject: "housekeeper", Scopes: []core.Scope{core.ScopeMemoryRead, core.ScopeMemoryWrite}, Namespaces: []string{operationtest.Here}}
	call := func(capabilities, name, args string) string {
		t.Helper()
		a := exchange(t, s, me, capabilities, "tools/call", name, fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args))
		if a.Error != nil {
			t.Fatalf("%s: %+v", name, a.Error)
		}
		return string(a.Result)
	}
	plan := member[string](t, call(knowing, "dream", `{"action":"plan","namespace":"`+operationtest.Here+`"}`), "taskId")
	work(t, w) // apart from the pass, which would leave it nothing to plan
	run := member[string](t, call(knowing, "dream", `{"action":"run","mode":"always","namespace":"`+operationtest.Here+`"}`), "taskId")
	wantMembers(t, ofTask(t, s, me, methodTaskGet, run).Result, map[string]string{"status": `"working"`}, "result")
	work(t, w)
	done := func(id string) map[string]any {
		t.Helper()
		result := ofTask(t, s, me, methodTaskGet, id).Result
		wantMembers(t, result, map[string]string{"status": `"completed"`}, "error")
		return member[map[string]any](t, string(result), "result")["structuredContent"].(map[string]any)
	}
	if made := done(plan); made["status"] != "planned" || made["steps"] != 3.0 {
		t.Errorf("the plan is %v", made)
	}
	report := done(run)
	if report["absolutized_dates"] != 3.0 {
		t.Errorf("the report is %v", report)
	}
	looked := call(unknowing, "loop_status", `{"job_id":"`+run+`"}`)
	if job := member[map[string]any](t, looked, "structuredContent"); job["status"] != "completed" || job["operation"] != "dream_run" {
		t.Errorf("the job is %v", job)
	}
	undone := call(knowing, "dream", fmt.Sprintf(`{"action":"undo","id":%q}`, report["run_id"]))
	if got := member[map[string]any](t, undone, "structuredContent"); len(got["undone"].([]any)) != 3 {
		t.Errorf("undone: %v", got)
	}
}
