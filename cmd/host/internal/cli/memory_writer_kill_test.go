//go:build linux

package cli

import (
	"bufio"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

func TestAKilledWriterOfMemoriesLosesNothing(t *testing.T) {
	coretest.Long(t)
	w := newKillWorld(t)
	var all []written
	for range kills(5) {
		list := w.killWriter(1 + rand.IntN(60))
		w.holds(list)
		all = append(all, list...)
	}
	w.holds(all)
	w.memories(filepath.Join(w.dir, "data")) // store check and audit verify
	ops := map[string]int{}
	for _, o := range all {
		ops[o.Op]++
	}
	t.Logf("acknowledged: %v", ops)
	for _, op := range []string{"observed", "reflected", "fed", "purged", "promoted"} {
		if ops[op] == 0 {
			t.Errorf("none was %s", op)
		}
	}
}

// killWriter kills a writer of memories a random moment after so many operations
// were acknowledged, and returns all that were.
func (w *killWorld) killWriter(operations int) (list []written) {
	w.t.Helper()
	cmd := exec.Command(filepath.Join(programs, "memory-writer"))
	cmd.Env, cmd.Dir, cmd.Stderr = w.env, w.dir, w.t.Output()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil { // what isn't a whole line isn't acknowledged
			break
		}
		var o written
		if err := json.Unmarshal(line, &o); err != nil {
			w.t.Fatalf("%q: %v", line, err)
		}
		if list = append(list, o); len(list) == operations {
			<-time.After(rand.N(5 * time.Millisecond))
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Wait()
	if len(list) < operations {
		w.t.Fatalf("it ended by itself after %d operations", len(list))
	}
	return list
}

// holds proves that the store holds what was acknowledged, and that all its parts
// are sound.
func (w *killWorld) holds(list []written) {
	w.t.Helper()
	env := map[string]string{}
	for _, v := range w.env {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	app := &App{Stdout: w.t.Output(), Stderr: w.t.Output(), Stdin: os.Stdin, Getenv: func(name string) string { return env[name] }}
	err := app.load()
	if err == nil {
		err = w.sound(app, list)
	}
	if closed := app.closeHost(); err == nil {
		err = closed
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// sound proves that what was acknowledged is there, and that the store's parts agree.
func (w *killWorld) sound(app *App, list []written) error {
	h, err := app.openHost(w.t.Context())
	if err != nil {
		return err
	}
	for _, o := range list {
		w.there(h.Memories, o)
	}
	return h.Store.View(w.t.Context(), func(r core.Reader) error {
		parts, err := host.Checkers(h.Store)
		if err != nil {
			return err
		}
		for _, part := range parts {
			if err := part.Check(w.t.Context(), r, func(p core.Problem) { w.t.Errorf("problem: %+v", p) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// there proves that an operation is there as it was acknowledged.
func (w *killWorld) there(m *memory.Memories, o written) {
	w.t.Helper()
	ctx := w.t.Context()
	memory, err := m.Get(ctx, o.ID)
	reason := sdk.ReasonOf(err)
	switch o.Op {
	case "observed":
		if reason != "" && reason != "memory_purged" {
			w.t.Errorf("%+v: %v", o, err)
		}
	case "reflected":
		links, _, linkErr := m.Links(ctx, o.ID)
		if err != nil || linkErr != nil || memory.ReflectionDepth != 1 || len(links) != 1 {
			w.t.Errorf("%+v: %+v, links %v, %v, %v", o, memory, links, err, linkErr)
		}
	case "fed":
		again, err := m.Feedback(ctx, &core.FeedbackRequest{Session: o.Session, Turn: o.Turn, Outcome: core.OutcomePartial})
		if err != nil || !again.Duplicate || len(again.Items) != 1 || again.Items[0].ID != o.ID {
			w.t.Errorf("%+v: %+v, %v", o, again, err)
		}
	case "purged":
		if reason != "memory_purged" {
			w.t.Errorf("%+v: %v", o, err)
		}
	case "promoted":
		if _, err := m.Knowledge.Promotion(ctx, o.ID); err != nil || memory.State != core.StatePromoted {
			w.t.Errorf("%+v: %+v, %v", o, memory, err)
		}
	default:
		w.t.Errorf("%+v", o)
	}
}
