//go:build cgo && lua54

package cli

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
)

// TestLearnFromFailures runs the tasks of the example twice: with the memory, the
// second time takes fewer iterations; without it, it gains nothing.
func TestLearnFromFailures(t *testing.T) {
	coretest.Long(t)
	tasks, err := filepath.Glob("../../../../examples/learn-from-failures/tasks/*.txt")
	if err != nil || len(tasks) != 5 {
		t.Fatalf("tasks %v, error %v", tasks, err)
	}
	iterations := func(t *testing.T, w *world, flags ...string) (counts []int) {
		for _, task := range tasks {
			args := []string{"run", "../../../../examples/learn-from-failures/workflow.yaml", "--input", task, "--json"}
			var result struct {
				Output map[string]any
				Nodes  struct {
					Note struct {
						Status  string
						History []struct{}
					}
				}
			}
			code, stdout, stderr := w.run(t.Context(), slices.Concat(args, flags)...)
			if err := json.Unmarshal([]byte(stdout), &result); err != nil || code != exitPassed {
				t.Fatalf("%s: exit %d, error %v\n%s", task, code, err, stderr)
			}
			if result.Nodes.Note.Status != "passed" || result.Output["currency"] == nil {
				t.Fatalf("%s: %+v", task, result)
			}
			counts = append(counts, len(result.Nodes.Note.History))
		}
		return counts
	}
	sum := func(list []int) (n int) {
		for _, v := range list {
			n += v
		}
		return n
	}

	learning := newWorld(t)
	first, second := iterations(t, learning), iterations(t, learning)
	t.Logf("with recall: %v, then %v", first, second)
	if sum(second) >= sum(first) || sum(second) != len(tasks) {
		t.Errorf("the second run took %v iterations after %v: each task should pass at once", second, first)
	}

	forgetful := newWorld(t)
	first, second = iterations(t, forgetful, "--state", "recall=false"), iterations(t, forgetful, "--state", "recall=false")
	t.Logf("without: %v, then %v", first, second)
	if !slices.Equal(first, second) {
		t.Errorf("without recall the second run took %v iterations after %v", second, first)
	}
}
