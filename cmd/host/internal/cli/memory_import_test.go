package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
)

// A file of thousands of records of each format is stored, and storing it again adds nothing.
func TestMemoryImport_TwiceAddsNothing(t *testing.T) {
	coretest.Long(t)
	if coretest.Plain(t) {
		return
	}
	records := coretest.Heavy(2_500, 50_000)
	for format, record := range map[string]string{
		"mcp-memory": `{"type":"entity","name":"entity %d","entityType":"thing","observations":["is number %[1]d of the list"]}` + "\n",
		"mem0":       `,{"id":"m-%d","memory":"The user's choice number %[1]d","created_at":"2025-01-02T03:04:05.678-07:00","user_id":"u","metadata":{"n":%[1]d}}`,
		"markdown":   "# Heading %d\n\nText number %[1]d.\n\n",
		"jsonl":      `{"id":%d,"content":"Line number %[1]d","timestamp":1735700000}` + "\n",
	} {
		t.Run(format, func(t *testing.T) {
			w := newWorld(t)
			var text strings.Builder
			for n := range records {
				fmt.Fprintf(&text, record, n)
			}
			whole := text.String()
			if format == "mem0" {
				whole = `{"results":[` + whole[1:] + `]}`
			}
			file := w.file("records.md", whole)
			for try, want := range []string{
				fmt.Sprintf("%d memories stored, 0 were already stored, 0 left out\n", records), fmt.Sprintf("0 memories stored, %d were already stored, 0 left out\n", records),
			} {
				if out, _ := w.ok("memory", "import", file, "--from", format); out != want {
					t.Errorf("import %d: %s", try+1, out)
				}
			}
		})
	}
}

// A memory that was purged since it was imported isn't stored again, and keeps no other out.
func TestMemoryImport_LeavesOutWhatWasPurged(t *testing.T) {
	w := newWorld(t)
	text := `{"content":"The gulls sleep on the pier."}` + "\n" + `{"content":"The key is under the ninth stone."}` + "\n"
	w.ok("memory", "import", w.file("a.jsonl", text), "--from", "jsonl")
	listed := w.parsed(exitPassed, "memory list")
	items, _ := listed["items"].([]any)
	if len(items) != 2 {
		t.Fatalf("listed is %v", listed)
	}
	for _, item := range items {
		if m := item.(map[string]any); strings.Contains(m["content"].(string), "key") {
			w.ok("gate", "request", m["id"].(string), "--erase", "--reason", "wrong")
		}
	}
	out, stderr := w.ok("memory", "import", w.file("b.jsonl", text+`{"content":"A third."}`), "--from", "jsonl")
	if want := "1 memory stored, 1 were already stored, 1 left out\n"; out != want {
		t.Errorf("%s", out)
	}
	wantIn(t, stderr, "left out: line 2: The key", "it was imported before, and purged since")
}
