package cli

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/job"
)

// decoded runs a command that prints JSON.
func decoded[T any](w *world, wantCode int, args ...string) (v T) {
	w.t.Helper()
	code, stdout, stderr := w.run(w.t.Context(), append(args, "--json")...)
	if err := json.Unmarshal([]byte(stdout), &v); err != nil || code != wantCode {
		w.t.Fatalf("%v: exit %d, want %d, %v: %s%s", args, code, wantCode, err, stdout, stderr)
	}
	return v
}

const (
	repeatsFolder = "../../../../examples/extract-repeats/"
	repeatsScript = repeatsFolder + "repeats.lua"
)

// repeatsReadme are the command lines of the example's README that begin so.
func repeatsReadme(t *testing.T, beginning string) (lines [][]string) {
	t.Helper()
	text, err := os.ReadFile(repeatsFolder + "README.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "reflectory "+beginning) {
			lines = append(lines, sampleArgs(strings.ReplaceAll(line, `"`, "'"))[1:])
		}
	}
	if len(lines) == 0 {
		t.Fatalf("the README has no %s", beginning)
	}
	return lines
}

// anna observes what the example's README has her observe.
func (w *world) anna() {
	w.t.Helper()
	for _, line := range repeatsReadme(w.t, "memory observe") {
		w.ok(line...)
	}
}

func TestReflect_TheExampleWorksAsItsReadmeSays(t *testing.T) {
	w := newWorld(t)
	w.env["REFLECTORY_REFLECTION_SCRIPT"] = repeatsScript
	w.anna()
	for _, line := range repeatsReadme(t, "reflect ") {
		if _, said := w.ok(line...); !strings.Contains(said, "1 insight") {
			t.Errorf("%q: %s", line, said)
		}
	}
	for _, line := range repeatsReadme(t, "memory list") {
		if listed, _ := w.ok(line...); !strings.Contains(listed, "Clear the cache") || strings.Contains(listed, "Friday") {
			t.Errorf("%q: %s", line, listed)
		}
	}
}

func TestReflect_MakesInsightsWithoutAModel(t *testing.T) {
	w := newWorld(t)
	w.env["REFLECTORY_REFLECTION_SCRIPT"] = repeatsScript
	w.anna()
	_, said := w.ok("reflect", "--user", "anna", "--wait")
	if !strings.Contains(said, "nothing is due: no trigger conditions met") {
		t.Error(said)
	}
	dry := decoded[operation.ReflectionProgress](w, 0, "reflect", "--user", "anna", "--force", "--wait", "--dry-run")
	if !dry.DryRun || *dry.InsightsCreated != 1 || dry.Insights[0].MemoryID != "" {
		t.Errorf("%+v", dry)
	}
	made := decoded[operation.ReflectionProgress](w, 0, "reflect", "--user", "anna", "--force", "--wait")
	if made.Status != "completed" || *made.InsightsCreated != 1 || *made.MemoriesAnalyzed != 3 || len(made.Insights[0].Sources) != 2 ||
		!strings.EqualFold(strings.ReplaceAll(made.Insights[0].Content, ",", ""), "clear the cache before a build") {
		t.Errorf("%+v", made)
	}
	got := decoded[core.Memory](w, 0, "memory", "get", made.Insights[0].MemoryID)
	if got.Kind != core.KindSemantic || got.ReflectionDepth != 1 || got.Importance != 0.7 {
		t.Errorf("%+v", got)
	}
	notes := decoded[operation.Page[core.Memory]](w, 0, "memory", "list", "--namespace", "users/anna", "--kind", "notification")
	if len(notes.Items) != 2 || notes.Items[0].Title != "reflection completed" || notes.Items[0].Importance != 0 || strings.Contains(notes.Items[0].Content, "cache") {
		t.Errorf("%+v", notes.Items)
	}
	code, stdout, stderr := w.run(t.Context(), "reflect", "--user", "anna", "--force", "--wait")
	if code != 0 || !strings.Contains(stderr, "insufficient observations (0 found, need at least 3)") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	limited := decoded[operation.ReflectionEnqueued](w, exitFailure, "reflect", "--user", "anna", "--force")
	if limited.Status != "rate_limited" || limited.RetryAfterSeconds < 3500 || limited.RetryAfterSeconds > 3600 {
		t.Errorf("%+v", limited)
	}
	if _, said := w.ok("store", "check"); strings.Contains(said, "problem") {
		t.Error(said)
	}
}

// An observation queues the reflection that it makes due, and jobs work does it.
func TestReflect_IsQueuedByAnObservation(t *testing.T) {
	w := newWorld(t)
	w.env["REFLECTORY_REFLECTION_SCRIPT"] = repeatsScript
	w.ok("governance", "set", "users", "reflection.observations=3")
	w.anna()
	again := decoded[operation.ReflectionEnqueued](w, 0, "reflect", "--user", "anna", "--force")
	queued := decoded[operation.JobPage](w, 0, "jobs", "list")
	if len(queued.Items) != 1 || again.Status != "already_running" || again.JobID != queued.Items[0].ID || queued.Items[0].UserID != "anna" || !queued.NoWorker {
		t.Fatalf("%+v, %+v", queued, again)
	}
	w.ok("jobs", "work", "--until-idle")
	j := decoded[job.Job](w, 0, "jobs", "show", again.JobID)
	var made struct {
		InsightsCreated int `json:"insights_created"`
	}
	if err := json.Unmarshal(j.Result, &made); err != nil || j.Status != job.StatusCompleted || made.InsightsCreated != 1 {
		t.Errorf("%s: %s", j.Status, j.Result)
	}
	page := decoded[operation.Page[core.Memory]](w, 0, "memory", "list", "--namespace", "users/anna", "--kind", "semantic")
	if len(page.Items) != 1 {
		t.Errorf("%+v", page.Items)
	}
	recalled := decoded[struct {
		Memories []memoryID `json:"memories"`
	}](w, 0, "memory", "recall", "reflection completed", "--namespace", "users/anna", "--limit", "10")
	for _, m := range recalled.Memories {
		if m.Kind == core.KindNotification {
			t.Error("a notification is recalled")
		}
	}
}

// What was observed and reflected on is known in another store too.
func TestReflect_CountsAreExported(t *testing.T) {
	w := newWorld(t)
	w.env["REFLECTORY_REFLECTION_SCRIPT"] = repeatsScript
	w.anna()
	w.ok("reflect", "--user", "anna", "--force", "--wait")
	w.ok("memory", "observe", "--namespace", "users/anna", "--content", "More.")
	w.ok("governance", "set", "users", "reflection.observations=1")
	w.ok("store", "export", w.dir+"/export")
	w.env["REFLECTORY_DATA_DIR"] = w.dir + "/other"
	w.ok("store", "import", w.dir+"/export")
	w.ok("store", "check")
	due := decoded[operation.ReflectionEnqueued](w, 0, "reflect", "--user", "anna")
	if due.Status != "queued" {
		t.Errorf("%+v", due)
	}
	w.ok("jobs", "work", "--until-idle")
	if j := decoded[job.Job](w, 0, "jobs", "show", due.JobID); !strings.Contains(string(j.Result), "(1 found, need at least 3)") {
		t.Errorf("%s", j.Result)
	}
}

type memoryID struct {
	ID   string          `json:"id"`
	Kind core.MemoryKind `json:"kind"`
}

func TestReflect_FailsWithoutAGenerator(t *testing.T) {
	w := newWorld(t)
	w.anna()
	code, stdout, stderr := w.run(t.Context(), "reflect", "--user", "anna", "--force", "--wait")
	if code != exitFailure || !strings.Contains(stderr, "failed: no_generator") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
}
