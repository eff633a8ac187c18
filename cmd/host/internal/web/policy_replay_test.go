package web

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/policypoint"
)

// TestPolicyReplay_IsAMatrix: a job that replayed policies shows how often what would have become
// what, and the decisions.
func TestPolicyReplay_IsAMatrix(t *testing.T) {
	change := `{"point":"gate","subject":"memory-1","before":{"verdict":"promote"},"after":{"verdict":"retain"},"file_before":"a","file_after":"b when[0]"}`
	access := `{"point":"access","subject":` + string(jsontext.MustEncode(hostile[0])) + `,"before":{"allow":true},"after":{"allow":false},"file_before":"a","file_after":"c"}`
	v := policyReplayOf(&job.Job{
		Payload: []byte(`{"operation":"policy_replay"}`), Result: []byte(`{"decided":500,"changed":7,"changes":[` + change + `,` + change + `,` + access + `],
			"outcomes":[{"point":"gate","before":"promote","after":"promote","count":84,"changed":1},{"point":"gate","before":"promote","after":"retain","count":6,"changed":6},
			{"point":"gate","before":"retain","after":"retain","count":388},{"point":"access","before":"allow","after":"deny","count":1,"changed":1}]}`),
	})
	if len(v.Matrices) != 2 || v.Others != 4 || len(v.Rows) != 3 {
		t.Fatalf("%+v", v)
	}
	want := []replayRow{
		{Before: tagOf("promote"), Total: 90, Counts: []replayCell{{84, 1, true}, {6, 6, false}}},
		{Before: tagOf("retain"), Total: 388, Counts: []replayCell{{}, {388, 0, true}}},
	}
	if m := v.Matrices[0]; m.Point != policypoint.Gate || !slices.Equal(m.After, []string{"promote", "retain"}) || !reflect.DeepEqual(m.Rows, want) {
		t.Errorf("%+v", m)
	}
	if v.Rows[0].Memory != "memory-1" || v.Rows[2].Memory != "" || v.Rows[2].Would.Text != "deny" {
		t.Errorf("%+v", v.Rows)
	}
	s := newSite(t)
	pages := New(Config{Host: s.Host, Authority: s.Host.Access, Now: s.Config.Clock.Now})
	var b strings.Builder
	all, err := pages.templates()
	s.Must(err)
	s.Must(all.ExecuteTemplate(&b, "policy-replay", v))
	if body := b.String(); !strings.Contains(body, "7 would differ") || !strings.Contains(body, "4 more would differ") || strings.Contains(body, hostile[0]) || !strings.Contains(body, "recorded as") || !strings.Contains(body, `<td class="same">388</td>`) {
		t.Errorf("%s", body)
	}
	if policyReplayOf(&job.Job{Payload: []byte(`{"operation":"run_start"}`), Result: []byte(`{}`)}) != nil || policyReplayOf(&job.Job{}) != nil {
		t.Error("another job has a replay")
	}
}
