package run_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/sdk"
)

// promptOf is a prompt with a system text and another text, after the run received memories.
func promptOf(system, text string, memories ...string) core.Prompt {
	message := func(role, text string) core.PromptMessage {
		return core.PromptMessage{Role: role, Text: text, Bytes: len(text), Digest: core.Digest([]byte(text))}
	}
	return core.Prompt{Role: sdk.RoleGenerate, Plugin: "p", Messages: []core.PromptMessage{message("system", system), message("user", text)}, Memories: memories}
}

// prompted records a loop with two attempts and a visit, each with prompts.
func (b *bench) prompted(memories ...string) {
	b.t.Helper()
	recorder := b.runs.Recorder(b.run)
	loop := recorder.Attempts(1, "loop")
	for i := 1; i <= 2; i++ {
		a := *output(i)
		a.Prompts = []core.Prompt{promptOf("You are careful.", fmt.Sprintf("Write %d with secret.", i), memories...)}
		b.must(loop.RecordOutput(b.ctx, &a))
		v := *judged(i)
		v.Prompts = []core.Prompt{promptOf("You judge.", fmt.Sprintf("Judge %d with secret.", i), memories...)}
		b.must(loop.RecordVerdict(b.ctx, &v))
	}
	b.must(recorder.RecordVisit(b.ctx, &core.Visit{Number: 1, Node: "loop", Next: "n", Result: json.RawMessage(`{}`)}))
	b.must(recorder.RecordVisit(b.ctx, &core.Visit{
		Number: 2, Node: "n", Next: "n", Result: json.RawMessage(`{}`), Prompts: []core.Prompt{promptOf("You are careful.", "Sum up.")},
	}))
}

// shownPrompts are the texts of all prompts of the run; "-" for one that was purged.
func (b *bench) shownPrompts() (all []string) {
	b.t.Helper()
	add := func(list []core.Prompt) {
		for _, p := range list {
			if p.Purged {
				all = append(all, "-")
			}
			for _, m := range p.Messages {
				if p.Purged != (m.Text == "" && m.Digest == "") || m.Bytes == 0 {
					b.t.Errorf("a message of %+v", p)
				}
				if m.Text != "" {
					all = append(all, m.Text)
				}
			}
		}
	}
	loops, err := b.runs.Attempts(b.ctx, runID)
	b.must(err)
	for _, l := range loops {
		for i := range l.Attempts {
			add(l.Attempts[i].Prompts)
		}
	}
	visits, err := b.runs.Visits(b.ctx, runID)
	b.must(err)
	for i := range visits {
		add(visits[i].Prompts)
	}
	return all
}

var wholePrompts = []string{
	"You are careful.", "Write 1 with secret.", "You judge.", "Judge 1 with secret.",
	"You are careful.", "Write 2 with secret.", "You judge.", "Judge 2 with secret.", "You are careful.", "Sum up.",
}

// TestPrompts_AreReadWithTheirAttempts and visits, while each text is stored once.
func TestPrompts_AreReadWithTheirAttempts(t *testing.T) {
	b := newBench(t)
	b.runs.Purged = isPurged
	b.prompted("m")
	if diff := cmp.Diff(wholePrompts, b.shownPrompts()); diff != "" {
		t.Errorf("prompts (-want +got):\n%s", diff)
	}
	if n := b.count("You are careful."); n != 1 {
		t.Errorf("a text is stored %d times", n)
	}
	if found := b.problems(); len(found) > 0 {
		t.Errorf("problems: %q", found)
	}
	progress, err := b.runs.Progress(b.ctx, runID)
	b.must(err)
	for i := range progress.Visits {
		if progress.Visits[i].Prompts != nil {
			t.Error("a resume reads prompts, which it doesn't need")
		}
	}
}

// count is in how many values of the store a text is.
func (b *bench) count(text string) (n int) {
	b.must(b.store.View(b.ctx, func(r core.Reader) error {
		return r.Scan(nil, nil, func(key, value []byte) (bool, error) {
			if strings.Contains(string(key)+string(value), text) {
				n++
			}
			return true, nil
		})
	}))
	return n
}

// TestPrompts_LoseAPurgedMemory: no byte of a text, and no digest of it, is left.
func TestPrompts_LoseAPurgedMemory(t *testing.T) {
	digest := core.Digest([]byte("Write 1 with secret."))
	for name, c := range map[string]struct {
		given  []string
		purge  []string
		purged bool
	}{
		"the only memory":         {[]string{"m"}, []string{"m"}, true},
		"one of two":              {[]string{"l", "m"}, []string{"m"}, true},
		"both":                    {[]string{"l", "m"}, []string{"l", "m"}, true},
		"twice":                   {[]string{"m"}, []string{"m", "m"}, true},
		"another":                 {[]string{"l"}, []string{"m"}, false},
		"one that begins like it": {[]string{"m2"}, []string{"m"}, false},
		"one that it begins like": {[]string{"m"}, []string{"m2"}, false},
		"none was given":          {nil, []string{"m"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.runs.Purged = isPurged
			b.prompted(c.given...)
			for _, id := range c.purge {
				b.purge(id)
			}
			want := wholePrompts
			if c.purged {
				// The text that was sent before and after is gone too: who sent it isn't known.
				want = []string{"-", "-", "-", "-", "Sum up."}
				if b.count("secret") > 0 || b.count(digest) > 0 {
					t.Error("the store has the text, or its digest")
				}
			}
			got := b.shownPromptsLoosely(c.purged)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("prompts (-want +got):\n%s", diff)
			}
			if found := b.problems(); len(found) > 0 {
				t.Errorf("problems: %q", found)
			}
		})
	}
}

// shownPromptsLoosely are the shown prompts, of which a text may be gone with another's.
func (b *bench) shownPromptsLoosely(loose bool) []string {
	if !loose {
		return b.shownPrompts()
	}
	var all []string
	loops, err := b.runs.Attempts(b.ctx, runID)
	b.must(err)
	visits, err := b.runs.Visits(b.ctx, runID)
	b.must(err)
	var prompts []core.Prompt
	for _, l := range loops {
		for i := range l.Attempts {
			prompts = append(prompts, l.Attempts[i].Prompts...)
		}
	}
	for i := range visits {
		prompts = append(prompts, visits[i].Prompts...)
	}
	for _, p := range prompts {
		if p.Purged {
			all = append(all, "-")
			continue
		}
		for _, m := range p.Messages {
			if m.Text != "" {
				all = append(all, m.Text)
			}
		}
	}
	return all
}

// TestPrompts_OfAMemoryThatWasPurgedMeanwhile are recorded without texts.
func TestPrompts_OfAMemoryThatWasPurgedMeanwhile(t *testing.T) {
	b := newBench(t)
	b.runs.Purged = isPurged
	b.purge("m")
	b.prompted("l", "m")
	if b.count("with secret") > 0 {
		t.Error("the store has the text")
	}
	if got := strings.Join(b.shownPromptsLoosely(true), "|"); got != "-|-|-|-|You are careful.|Sum up." {
		t.Errorf("shown are %s", got)
	}
	if found := b.problems(); len(found) > 0 {
		t.Errorf("problems: %q", found)
	}
}

// TestCheck_FindsForgedPrompts: what a purge wouldn't find, and what it left.
func TestCheck_FindsForgedPrompts(t *testing.T) {
	text := core.Digest([]byte("You judge."))
	for name, c := range map[string]struct {
		says  string
		forge func(tx core.Tx) error
	}{
		"a purged memory": {"a memory was purged", func(tx core.Tx) error { return tx.Put(purgedKey("m"), nil) }},
		"no index":        {"isn't in the index", func(tx core.Tx) error { return tx.Delete([]byte("run-prompt-memory/m/" + runID)) }},
		"another text":    {"isn't the text of a prompt", func(tx core.Tx) error { return tx.Put([]byte("run-prompt-text/"+runID+"/"+text), []byte("x")) }},
		"a text of nobody": {"isn't the text of a prompt", func(tx core.Tx) error {
			return tx.Put([]byte("run-prompt-text/"+runID+"/"+core.Digest([]byte("x"))), []byte("x"))
		}},
		"a run that isn't":  {"a run that doesn't exist", func(tx core.Tx) error { return tx.Put([]byte("run-prompt-memory/m/other"), nil) }},
		"prompts of no run": {"a run that doesn't exist", func(tx core.Tx) error { return tx.Put([]byte("run-prompt/other/12345678"), []byte("[]")) }},
		"text of no run":    {"a run that doesn't exist", func(tx core.Tx) error { return tx.Put([]byte("run-prompt-text/other/x"), []byte("x")) }},
		"no JSON":           {"can't be decoded", func(tx core.Tx) error { return tx.Put([]byte("run-prompt/"+runID+"/12345678"), []byte("x")) }},
		"a short key":       {"no visit and iteration", func(tx core.Tx) error { return tx.Put([]byte("run-prompt/"+runID+"/1"), []byte("[]")) }},
	} {
		b := newBench(t)
		b.runs.Purged = isPurged
		b.prompted("m")
		b.must(b.store.Update(b.ctx, c.forge))
		if found := strings.Join(b.problems(), "\n"); !strings.Contains(found, c.says) {
			t.Errorf("%s: found %q", name, found)
		}
	}
}

// TestPrune_RemovesPrompts: they are neither left in the store nor in the file's records.
func TestPrune_RemovesPrompts(t *testing.T) {
	b := newBench(t)
	b.runs.Purged = isPurged
	b.prompted("m")
	b.must(b.runs.Recorder(b.run).RecordEnd(b.ctx, &core.Run{ID: runID, Status: core.StatusPassed}, nil))
	removed := map[string]bool{}
	b.must(b.store.View(b.ctx, func(r core.Reader) error {
		return (&run.Pruner{Purged: isPurged, Before: b.run.UpdatedAt.AddDate(1, 0, 0)}).Prunable(b.ctx, r, 0, func(part core.Prunable) (bool, error) {
			for _, key := range part.Others {
				removed[string(key)] = true
			}
			for _, key := range part.Records {
				if strings.HasPrefix(string(key), "run-prompt") {
					t.Errorf("the file gets %q", key)
				}
			}
			return true, nil
		})
	}))
	b.must(b.store.View(b.ctx, func(r core.Reader) error {
		return core.ScanPrefix(r, []byte("run-prompt"), func(key, _ []byte) (bool, error) {
			if !removed[string(key)] {
				t.Errorf("%q stays", key)
			}
			return true, nil
		})
	}))
	if len(removed) == 0 {
		t.Error("nothing is removed")
	}
}

// TestPrompts_OfTheCallThatEndedARun are recorded with its end, purged like others, and kept when the
// run goes on.
func TestPrompts_OfTheCallThatEndedARun(t *testing.T) {
	for name, c := range map[string]struct {
		result json.RawMessage
		before bool // the memory was purged before
		purge  string
		want   string
	}{
		"a node":                {nil, false, "", "Write with secret."},
		"a loop":                {json.RawMessage(`{"status": "error"}`), false, "", "Write with secret."},
		"purged afterwards":     {nil, false, "m", "-"},
		"another memory":        {nil, false, "l", "Write with secret."},
		"purged before":         {nil, true, "", "-"},
		"a loop, purged before": {json.RawMessage(`{"status": "error"}`), true, "", "-"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.runs.Purged = isPurged
			if c.before {
				b.purge("m")
			}
			recorder := b.runs.Recorder(b.run)
			b.must(recorder.RecordVisit(b.ctx, &core.Visit{Number: 1, Node: "n", Next: "loop", Result: json.RawMessage(`{}`)}))
			ended := *b.run
			ended.Status = core.StatusError
			b.must(recorder.RecordEnd(b.ctx, &ended, &core.Visit{Number: 2, Node: "loop", Result: c.result, Prompts: []core.Prompt{promptOf("You are careful.", "Write with secret.", "m")}}))
			if c.purge != "" {
				b.purge(c.purge)
			}
			open, err := b.runs.OpenPrompts(b.ctx, runID)
			b.must(err)
			got := "none"
			if len(open) == 1 {
				if got = open[0].Messages[1].Text; open[0].Purged {
					got = "-"
				}
			}
			if got != c.want || (b.count("with secret") > 0) != (c.want != "-") {
				t.Errorf("%d prompts: %s, want %s", len(open), got, c.want)
			}
			if found := b.problems(); len(found) > 0 {
				t.Errorf("problems: %q", found)
			}
			stored, err := b.runs.Get(b.ctx, runID)
			b.must(err)
			if c.result == nil && stored.Result != nil {
				t.Errorf("the result is %s", stored.Result)
			}
		})
	}
}
