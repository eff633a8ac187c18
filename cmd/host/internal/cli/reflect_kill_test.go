//go:build linux

package cli

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/jsontext"
)

// reflecting is a world whose generator notes each of its calls and takes a while, and where
// five observations make a reflection due.
func reflecting(t *testing.T) *killWorld {
	t.Helper()
	w := newKillWorld(t).count()
	w.env = append(w.env, "REFLECTORY_REFLECTION_GENERATOR=test/tally",
		"REFLECTORY_REFLECTION_CONFIG="+string(jsontext.MustEncode(map[string]any{"file": w.tally, "works": 5 * time.Millisecond})))
	return w
}

// observeUntilDue has a server queue a reflection.
func (w *killWorld) observeUntilDue() {
	w.t.Helper()
	w.took("governance", "set", "users", "reflection.observations=5")
	for _, content := range []string{"one", "two", "three", "four", "five"} {
		w.took("memory", "observe", "--namespace", "users/anna", "--content", "memory "+content)
	}
}

// reflections are the jobs of reflections.
func (w *killWorld) reflections() []job.Job {
	w.t.Helper()
	var page operation.JobPage
	if code := w.json(&page, "jobs", "list", "--type", "reflection"); code != exitPassed {
		w.t.Fatalf("exit %d", code)
	}
	return page.Items
}

// awaitReflected waits until a reflection has ended.
func (w *killWorld) awaitReflected() {
	w.t.Helper()
	until(w.t, "a reflection ends", func() bool {
		jobs := w.reflections()
		return len(jobs) > 0 && jobs[0].Status.Terminal()
	})
}

// TestReflect_AServerKilledAtAnyMomentReflectsOnce: whenever the server is killed, the job
// ends once, its insights are there once each, and the generator isn't asked twice for an
// answer that was saved: only for the one that was cut off.
func TestReflect_AServerKilledAtAnyMomentReflectsOnce(t *testing.T) {
	coretest.Long(t)
	w := reflecting(t)
	cmd, _ := w.serve()
	w.observeUntilDue()
	w.awaitReflected()
	w.checkReflected(0)
	w.terminate(cmd, cmd.Process)
	for range kills(5) {
		_ = os.RemoveAll(filepath.Join(w.dir, "data"))
		_ = os.Remove(w.tally)
		cmd, _ := w.serve()
		w.observeUntilDue()
		<-time.After(rand.N(400 * time.Millisecond))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		cmd, _ = w.serve()
		w.awaitReflected()
		w.checkReflected(1)
		w.terminate(cmd, cmd.Process)
	}
}

// checkReflected checks what a reflection left, in which so many calls may have been cut off.
func (w *killWorld) checkReflected(cutOff int) {
	w.t.Helper()
	jobs := w.reflections()
	if len(jobs) != 1 || jobs[0].Status != job.StatusCompleted {
		w.t.Errorf("jobs %+v", jobs)
	}
	var page operation.Page[core.Memory]
	w.json(&page, "memory", "list", "--namespace", "users/anna", "--kind", "semantic")
	var contents []string
	for _, m := range page.Items {
		contents = append(contents, m.Content)
	}
	slices.Sort(contents)
	if got, want := strings.Join(contents, ", "), "one? first, one? second, three? first, two? first, two? second"; got != want {
		w.t.Errorf("insights %s, want %s", got, want)
	}
	var notes operation.Page[core.Memory]
	w.json(&notes, "memory", "list", "--namespace", "users/anna", "--kind", "notification")
	if len(notes.Items) != 1 {
		w.t.Errorf("%d notifications", len(notes.Items))
	}
	text, err := os.ReadFile(w.tally)
	if err != nil {
		w.t.Fatal(err)
	}
	calls := strings.Fields(string(bytes.TrimSpace(text)))
	unique := slices.Compact(slices.Sorted(slices.Values(calls)))
	if len(unique) != 4 || len(calls) > len(unique)+cutOff {
		w.t.Errorf("the generator was asked %q", calls)
	}
}

// TestReflect_WaitsForAServer that works on it: over the socket, and from elsewhere by its URL.
func TestReflect_WaitsForAServer(t *testing.T) {
	coretest.Long(t)
	w := reflecting(t)
	server, at := w.serve()
	token, err := os.ReadFile(at.Token)
	if err != nil {
		t.Fatal(err)
	}
	w.env = append(w.env, "REFLECTORY_TOKEN="+strings.TrimSpace(string(token)))
	for i, from := range [][]string{nil, {"--server", at.URL}} {
		for _, content := range []string{"one", "two", "three"} {
			w.took("memory", "observe", "--namespace", "users/anna", "--content", fmt.Sprint("memory ", content, " of ", i))
		}
		var made operation.ReflectionProgress
		if code := w.json(&made, append([]string{"reflect", "--user", "anna", "--force", "--wait"}, from...)...); code != exitPassed {
			t.Fatalf("%v: exit %d", from, code)
		}
		if made.Status != "completed" || *made.MemoriesAnalyzed < 3 || *made.InsightsCreated != []int{5, 1}[i] { // of six, which the generator says again
			t.Errorf("%v: %+v", from, made)
		}
	}
	w.terminate(server, server.Process)
}
