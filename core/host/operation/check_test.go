package operation_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/sdk"
)

// lessThanTwo are the operations whose requests have at most one field with a bound of its own.
var lessThanTwo = strings.Fields(`
	audit_head audit_streams audit_verify audit_verify_segment decision_get dream_apply dream_show dream_undo
	governance_explain governance_get host_drain host_list job_cancel job_get job_result knowledge_get knowledge_supersede
	login_new memory_approve memory_explain memory_get memory_history memory_lineage memory_namespaces memory_reembed
	memory_reject memory_restore memory_sweep plugin_get plugin_list plugin_push policy_list policy_push policy_replay
	reflection_cancel reflection_status run_attempts run_attempts_diff run_get run_resume session_list session_reset
	session_resume snapshot_diff snapshot_get snapshot_replay status store_backup store_check store_export store_import
	store_prune token_list token_operator token_revoke metrics`)

// TestProblems_AllAreNamed in the answer to a request with several mistakes, whatever the operation.
func TestProblems_AllAreNamed(t *testing.T) {
	w := newWorld(t)
	w.Open()
	tried := map[string]bool{}
	for _, m := range operationtest.AllMistakes() {
		tried[m.Operation] = true
		o, err := operation.Find(m.Operation)
		w.Must(err)
		in := reflect.New(o.In()).Interface()
		if err := json.Unmarshal([]byte(m.Request), in); err == nil {
			_, err = operation.Do(core.WithCaller(t.Context(), core.Operator("tester")), operation.Call{Host: w.Host}, m.Operation, in)
			checkPlaces(t, m.Operation, err, m.Places)
		} else { // a field that reads itself
			checkPlaces(t, m.Operation, err, m.Places)
		}
	}
	for _, o := range operation.Table() {
		if tried[o.Name] == slices.Contains(lessThanTwo, o.Name) {
			t.Errorf("%s: give operationtest.AllMistakes a request with two mistakes, or name it in lessThanTwo", o.Name)
		}
	}
}

// checkPlaces compares the places that an error names.
func checkPlaces(t *testing.T, what string, err error, want []string) {
	t.Helper()
	if sdk.CodeOf(err) != sdk.Invalid {
		t.Errorf("%s: %v", what, err)
		return
	}
	var got []string
	problems, _ := sdk.AsError(err).Details["problems"].([]*core.ErrorInfo)
	for _, p := range problems {
		got = append(got, operation.PointerOf(p.Details))
	}
	for _, place := range want {
		if !slices.Contains(got, place) {
			t.Errorf("%s: nothing names %s: %q", what, place, got)
		}
	}
}
