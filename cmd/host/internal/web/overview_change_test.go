package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/sdk"
)

// TestOverview_SaysWhatChanged since the period before, and whether that is better.
func TestOverview_SaysWhatChanged(t *testing.T) {
	s := newSite(t)
	if body := s.get("/").body; strings.Contains(body, "Changes are from") {
		t.Error("there is nothing to compare with")
	}
	for _, statuses := range [][]core.Status{{core.StatusPassed, core.StatusExhausted}, {core.StatusPassed, core.StatusPassed}} {
		s.Config.Clock.(*coretest.Clock).Advance(24 * time.Hour)
		for i, status := range statuses {
			r := s.begin("contact")
			r.Iterations, r.Recalled, r.Used = 2-i, 10, 5
			s.attempt(r, 1, core.Attempt{Iteration: 1, Role: sdk.RoleGenerate, Judged: true, Score: 1, Output: []byte(`1`)})
			s.end(r, status)
		}
	}
	s.signIn()
	page := s.get("/")
	text := textOf(s.tree(page, http.StatusOK))
	for _, want := range []string{"Changes are from the 24 h before, in which 2 runs ended.", "+50.0 pts, better", "no change"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q: %.2000s", want, text)
		}
	}
	if a := s.get("/?format=json"); !strings.Contains(a.body, `"is": "better"`) || !strings.Contains(a.body, `"ended_before": 2`) {
		t.Errorf("%.1500s", a.body)
	}
}

// TestOverview_Changes: each figure has its own sign of what is better.
func TestOverview_Changes(t *testing.T) {
	before := &run.Counts{Passed: 8, Failed: 2, PassedBy: []int64{4, 4}, Attempts: 12, Recalled: 100, Used: 40, CostNanos: 1000}
	now := &run.Counts{Passed: 18, Failed: 2, PassedBy: []int64{16, 2}, Attempts: 20, Recalled: 100, Used: 30, CostNanos: 2100}
	want := []change{{"+10.0 pts", "better"}, {"−30 pts", "worse"}, {"−0.39", "better"}, {"−10 pts", "worse"}, {"+5 % a run", "worse"}}
	for i, rule := range changes {
		if got := rule.of(now, before); got == nil || *got != want[i] {
			t.Errorf("figure %d: %+v, want %+v", i, got, want[i])
		}
		if got := rule.of(now, now); got == nil || got.Is != "same" {
			t.Errorf("figure %d of the same: %+v", i, got)
		}
		if got := rule.of(now, &run.Counts{}); got != nil {
			t.Errorf("figure %d of nothing: %+v", i, got)
		}
	}
}
