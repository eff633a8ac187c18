package operation_test

import (
	"testing"

	"github.com/reflectory/reflectory/core/host/operation"
)

// TestSourceFiles_FolderIsLocal: programs work on a copy of a folder only if the operator on this
// machine names it.
func TestSourceFiles_FolderIsLocal(t *testing.T) {
	h := toolsHost(t, nil)
	for name, c := range map[string]struct {
		folder string
		local  bool
		want   string
	}{
		"local": {"/srv/project", true, "/srv/project"}, "relative": {"project", true, ""}, "none": {"", true, ""},
		"from elsewhere": {"/srv/project", false, ""}, "root from elsewhere": {"/", false, ""}, "up from elsewhere": {"/srv/../etc", false, ""},
		"relative from elsewhere": {"..", false, ""}, "a link from elsewhere": {"/proc/self/root", false, ""},
	} {
		files := operation.SourceFiles{Folder: c.folder}
		run, judged, corrected := &operation.RunStart{SourceFiles: files}, &operation.Evaluate{SourceFiles: files}, &operation.Correct{SourceFiles: files}
		replay := &operation.RunReplay{SourceFiles: files}
		for operationName, in := range map[string]any{"run_start": run, "evaluate": judged, "correct": corrected, "run_replay": replay} {
			if _, err := operation.Do(operator(t), operation.Call{Host: h, Local: c.local}, operationName, in); err == nil {
				t.Errorf("%s: an empty request of %s is taken", name, operationName)
			}
		}
		for _, got := range []string{run.Folder, judged.Folder, corrected.Folder, replay.Folder} {
			if got != c.want {
				t.Errorf("%s: the folder is %q, want %q", name, got, c.want)
			}
		}
	}
}
