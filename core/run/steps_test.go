package run_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/run"
)

func (b *bench) step(key string) string {
	b.t.Helper()
	reply, err := b.runs.Step(b.ctx, runID, key)
	b.must(err)
	if reply == nil {
		return "none"
	}
	return string(reply.Output) + fmt.Sprint(reply.Metadata["m"])
}

// TestSteps_AreKeptUntilTheRunEnds for good, and lose their outputs with a memory.
func TestSteps_AreKeptUntilTheRunEnds(t *testing.T) {
	b := newBench(t)
	b.runs.Purged = isPurged
	keep := func(key, text string, memories ...string) {
		b.must(b.runs.KeepStep(b.ctx, runID, key, &core.Reply{Output: json.RawMessage(text), Metadata: map[string]string{"m": "1"}}, memories))
	}
	keep("k1", `"one"`)
	keep("k2", `"two"`, "m1", "m2")
	b.must(b.runs.KeepStep(b.ctx, runID, "k3", &core.Reply{}, []string{"m1"}))
	keep("k4", `"four"`, "m3")
	keep("k5", `"five"`)
	b.must(b.runs.KeepStep(b.ctx, runID, "k5", nil, nil))
	b.must(b.runs.KeepStep(b.ctx, runID[:35]+"9", "k6", nil, nil))
	if found := b.problems(); len(found) > 0 {
		t.Errorf("problems: %q", found)
	}
	memories, err := b.runs.StepMemories(b.ctx, runID)
	if diff := cmp.Diff([]string{"m1", "m2", "m3"}, memories); diff != "" || err != nil {
		t.Error(diff, err)
	}
	var given []string
	change(t, b.store, func(tx core.Tx) (err error) { given, err = run.Memories{}.Forget(tx, "m1"); return err })
	if diff := cmp.Diff([]string{runID}, given); diff != "" {
		t.Error(diff)
	}
	got := []string{b.step("k1"), b.step("k2"), b.step("k3"), b.step("k4"), b.step("k5")}
	if diff := cmp.Diff([]string{`"one"1`, "", "", `"four"1`, "none"}, got); diff != "" {
		t.Error(diff)
	}
	rec := b.runs.Recorder(b.run)
	b.run.Status = core.StatusCancelled
	b.must(rec.RecordEnd(b.ctx, b.run, nil))
	again, err := b.runs.Resume(b.ctx, runID)
	b.must(err)
	if got := b.step("k1"); got != `"one"1` {
		t.Errorf("after a resume: %s", got)
	}
	again.Status = core.StatusPassed
	b.must(b.runs.Recorder(again).RecordEnd(b.ctx, again, nil))
	if got := b.step("k1"); got != "none" || b.count("four") > 0 {
		t.Errorf("after the end: %s", got)
	}
	if found := b.problems(); len(found) > 0 {
		t.Errorf("problems: %q", found)
	}
}

func TestSteps_WithoutTheirRunAreAProblem(t *testing.T) {
	b := newBench(t)
	b.must(b.runs.KeepStep(b.ctx, "0193f2a0-0000-7000-8000-000000000009", "k", &core.Reply{Output: json.RawMessage(`1`)}, []string{"m"}))
	if found := b.problems(); len(found) != 1 {
		t.Errorf("problems: %q", found)
	}
}
