package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/gateway"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// TestServe_PurgedTextIsNotPutBack, and a memory whose text is further up isn't given again.
func TestServe_PurgedTextIsNotPutBack(t *testing.T) {
	w := newWorld(t)
	w.observe("team/a", "The billing service is deployed with make ship-billing.")
	secret := w.observe("team/a", "The billing service has the door code kestrel-4711 for its deployments.")
	ann, m := caller("ann", "team/**"), modelWith("team/a")
	list := []gateway.Message{user("How is the billing service deployed, and what is its door code?")}
	ask := func() gateway.Edits {
		up := says("done")
		w.serve(ann, m, &gateway.Request{Messages: list}, up)
		list = append(list, assistant(text("done")), user("Tell me again how the billing service is deployed, and its door code."))
		return up.asked[0].Edits
	}
	first := ask().Context[0]
	if !strings.Contains(first, "kestrel-4711") || !strings.Contains(first, "ship-billing") {
		t.Fatal(first)
	}
	second := ask()
	if second.Context[0] != first || strings.Contains(second.Context[2], "kestrel-4711") || strings.Contains(second.Context[2], "ship-billing") || !strings.Contains(second.Context[2], " above, 1 turns ago") {
		t.Errorf("%v", second.Context)
	}
	if _, err := w.host.Memories.Gate.Erase(core.WithCaller(t.Context(), core.Operator("ada")), secret, memory.EraseRequest{Reason: "a test"}); err != nil {
		t.Fatal(err)
	}
	third := ask()
	for i, c := range third.Context {
		if strings.Contains(c, "kestrel-4711") || strings.Contains(c, "[purged]") {
			t.Errorf("message %d: %s", i, c)
		}
	}
	if !strings.Contains(third.Context[0], "ship-billing") {
		t.Error(third.Context[0])
	}
	if err := w.gate.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w.stored("kestrel-4711") {
		t.Error("the store has the purged text")
	}
	w.sound()
}

// stored reports whether a text is anywhere in the store.
func (w *world) stored(text string) (found bool) {
	w.Helper()
	err := w.host.Store.View(w.Context(), func(r core.Reader) error {
		return core.ScanPrefix(r, nil, func(key, value []byte) (bool, error) {
			found = found || bytes.Contains(value, []byte(text)) || bytes.Contains(key, []byte(text))
			return true, nil
		})
	})
	if err != nil {
		w.Fatal(err)
	}
	return found
}

// TestServe_DigestsOnly: with digests, neither the client's words nor the model's are stored.
func TestServe_DigestsOnly(t *testing.T) {
	for _, record := range []gateway.Record{gateway.RecordContent, gateway.RecordDigests} {
		w := newWorld(t)
		m := gateway.Model{Name: "m", Namespace: "team/a", Record: record, Check: gateway.Check{ResponseFormat: true}}
		r := &gateway.Request{Messages: []gateway.Message{user("ask-words")}, Schema: contact}
		out := w.serve(caller("ann", "team/**"), m, r, says(`{"name":"first-words","kind":"kind-words"}`, `{"name":"reply-words","age":3}`))
		if err := w.gate.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, words := range []string{"ask-words", "first-words", "reply-words"} {
			if w.stored(words) != (record == gateway.RecordContent) {
				t.Errorf("%s: %s stored: %v", record, words, w.stored(words))
			}
		}
		stored, err := w.host.Runs.Get(t.Context(), out.Turn.Run)
		if err != nil || stored.Iterations != 2 || stored.Usage.TokensOut != 10 || stored.Status != core.StatusPassed {
			t.Errorf("%+v %v", stored, err)
		}
		w.sound()
	}
}

// TestServe_MessagesAreStoredOnce, and a run names them.
func TestServe_MessagesAreStoredOnce(t *testing.T) {
	w := newWorld(t)
	m := gateway.Model{Name: "m", Namespace: "team/a"}
	var list []gateway.Message
	var out *gateway.Outcome
	for n := range 20 {
		list = append(list, user(fmt.Sprint("question ", n)))
		out = w.serve(caller("ann", "team/**"), m, &gateway.Request{Messages: list}, says("answer"))
		list = append(list, assistant(text("answer")))
	}
	if err := w.gate.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	n := 0
	err := w.host.Store.View(t.Context(), func(r core.Reader) error {
		return core.ScanPrefix(r, []byte("gateway-message/"), func(_, value []byte) (bool, error) {
			n++
			return true, nil
		})
	})
	stored, found := w.host.Runs.Get(t.Context(), out.Turn.Run)
	if err := errors.Join(err, found); err != nil {
		t.Fatal(err)
	}
	var state struct {
		Conversation string
		Messages     int
	}
	if err := json.Unmarshal(stored.State, &state); err != nil {
		t.Fatal(err)
	}
	messages, err := w.gate.Messages(t.Context(), "team/a", state.Conversation)
	if err != nil || len(messages) != 39 || state.Messages != 39 || n != 39 {
		t.Errorf("%d records; the run has %d and names %d messages: %v", n, state.Messages, len(messages), err)
	}
	for i := range messages {
		if string(messages[i].Body) != string(list[i].Canonical) {
			t.Errorf("message %d is %s", i, messages[i].Body)
		}
	}
}

// failing is a store that can't write while it is off.
type failing struct {
	core.Store
	off atomic.Bool
}

func (f *failing) Update(ctx context.Context, fn func(core.Tx) error) error {
	if f.off.Load() {
		return sdk.Errorf(sdk.Unavailable, "disk_full", "no space left")
	}
	return f.Store.Update(ctx, fn)
}

// TestServe_UnrecordedRequests: while the store can't write, requests are refused or pass, with their
// check, and afterwards everything is as before.
func TestServe_UnrecordedRequests(t *testing.T) {
	for _, recall := range []int{0, 300} {
		for _, when := range []gateway.WhenUnrecorded{"", gateway.UnrecordedRefuse, gateway.UnrecordedPass} {
			t.Run(fmt.Sprint(recall, when), func(t *testing.T) {
				store := &failing{Store: mem.Open()}
				w := newWorldOn(t, store, gateway.Options{WhenUnrecorded: when})
				w.observe("team/a", "The billing service is deployed with make ship-billing.")
				m := gateway.Model{Name: "m", Namespace: "team/a", Recall: gateway.Recall{MaxTokens: recall}, Learn: true, Check: gateway.Check{ResponseFormat: true}}
				ask := func(question string) (*gateway.Outcome, error) {
					return w.gate.Serve(t.Context(), caller("ann", "team/**"), &m,
						&gateway.Request{Messages: []gateway.Message{user(question)}, Schema: contact, Session: "s"}, says("{}", right))
				}
				if _, err := ask("before"); err != nil {
					t.Fatal(err)
				}
				if err := w.gate.Commit(t.Context()); err != nil {
					t.Fatal(err)
				}
				store.off.Store(true)
				if recall == 0 {
					if out, err := ask("it isn't known yet"); err != nil || out.Verdict != "passed" {
						t.Errorf("%+v %v", out, err)
					}
					if err := w.gate.Commit(t.Context()); err == nil {
						t.Error("a commit works")
					}
				}
				out, err := ask("How is the billing service deployed?")
				switch {
				case when == gateway.UnrecordedPass && (err != nil || out.Verdict != "passed" || out.Attempts != 2):
					t.Errorf("%+v %v", out, err)
				case when != gateway.UnrecordedPass && (sdk.CodeOf(err) != sdk.Unavailable || sdk.ReasonOf(err) != "gateway_unrecorded"):
					t.Errorf("%v", err)
				}
				store.off.Store(false)
				if err := w.gate.Commit(t.Context()); err != nil {
					t.Fatal(err)
				}
				if out, err = ask("How is the billing service deployed now?"); err != nil || out.Verdict != "passed" || recall > 0 && out.Turn.Snapshot == "" {
					t.Errorf("%+v %v", out, err)
				}
				if err := w.gate.Commit(t.Context()); err != nil {
					t.Fatal(err)
				}
				w.sound()
				w.mu.Lock()
				w.warn = nil // that it couldn't write
				w.mu.Unlock()
			})
		}
	}
}

// TestServe_InterruptedRunsEnd: a request whose host was killed ends as cancelled on the next host, and
// can't be resumed or replayed.
func TestServe_InterruptedRunsEnd(t *testing.T) {
	store := mem.Open()
	w := newWorldOn(t, store, gateway.Options{})
	takeOver := func(context.Context, run.Held) error {
		t.Error("it is taken over")
		return nil
	}
	if err := w.host.Membership.Join(t.Context(), host.JoinOptions{TakeOver: takeOver}); err != nil {
		t.Fatal(err)
	}
	m := modelWith("team/a")
	up := &upstream{reply: func(a *gateway.Attempt) (*gateway.Reply, error) {
		next := newWorldOn(t, store, gateway.Options{}) // while this one waits, as if it were gone
		if err := next.host.Membership.Join(t.Context(), host.JoinOptions{TakeOver: takeOver}); err != nil {
			t.Error(err)
		}
		for deadline := time.After(20 * time.Second); ; {
			stored, err := next.host.Runs.Get(t.Context(), a.Turn.Run)
			if err != nil {
				t.Error(err)
				break
			}
			if stored.Status == core.StatusCancelled && stored.StopReason == "interrupted" {
				break
			}
			select {
			case <-deadline:
				t.Errorf("the run is %s", stored.Status)
				return text("late"), nil
			case <-time.After(10 * time.Millisecond):
			}
		}
		ctx := core.WithCaller(t.Context(), core.Operator("ada"))
		if _, err := next.host.Runner.Resume(ctx, a.Turn.Run, host.RunOptions{}); sdk.ReasonOf(err) != "run_of_gateway" {
			t.Errorf("resumed: %v", err)
		}
		if _, err := next.host.Runner.Replay(ctx, a.Turn.Run, host.ReplayOptions{}); sdk.ReasonOf(err) != "run_of_gateway" {
			t.Errorf("replayed: %v", err)
		}
		if _, err := next.host.Runs.Resume(ctx, a.Turn.Run); sdk.ReasonOf(err) != "run_not_resumable" {
			t.Errorf("resumed in the repository: %v", err)
		}
		next.sound()
		return text("late"), nil
	}}
	w.serve(caller("ann", "team/**"), m, &gateway.Request{Messages: []gateway.Message{user("q")}}, up)
	if err := w.gate.Commit(t.Context()); sdk.ReasonOf(err) != "run_ended" {
		t.Errorf("the end of a run that was taken away: %v", err)
	}
	w.sound()
}
