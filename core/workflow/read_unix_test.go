//go:build unix

package workflow_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/sdk"
)

func TestReadDoesNotWaitForANamedPipeOfASchema(t *testing.T) {
	dir := folder(t, map[string]string{"w.yaml": node("reflection.evaluate", "evaluator: {type: schema, schema_file: pipe}")})
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := workflow.Read(filepath.Join(dir, "w.yaml")); sdk.ReasonOf(err) != "file_unreadable" {
		t.Errorf("got %v", err)
	}
}
