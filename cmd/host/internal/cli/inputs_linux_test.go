package cli

import (
	"context"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/reflectory/reflectory/sdk"
)

// TestWhoWaitsForInputCanBeStopped: one signal ends a command that waits for a terminal
// or for the writer of a pipe, and releases the store.
func TestWhoWaitsForInputCanBeStopped(t *testing.T) {
	w := newPlainWorld(t)
	if err := syscall.Mkfifo("pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"memory observe --namespace n --file -",
		"memory observe --namespace n --content -",
		"memory recall --namespace n --queries -",
		"evidence tool --file -",
		"store import - --data-dir other",
	} {
		ctx, stop := context.WithCancel(t.Context())
		stdin := &endless{stop: stop}
		stdin.from, stdin.to = io.Pipe()
		var out, errs strings.Builder
		code := runProgram(ctx, strings.Fields(line), stdin, &out, &errs, func(k string) string { return w.env[k] })
		if code != exitCancelled || !strings.Contains(errs.String(), "stopped while waiting for ") {
			t.Errorf("%s: exit %d, %s", line, code, errs.String())
		}
		stop()
		_ = stdin.to.Close() // so that the abandoned read ends
	}
	w.line(exitPassed, "", "store check")

	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := (inputs{ctx, nil}).open("pipe"); sdk.CodeOf(err) != sdk.Cancelled {
		t.Errorf("a pipe without a writer: %v", err)
	}
	writer, err := os.OpenFile("pipe", os.O_WRONLY, 0) // once the abandoned open continues
	if err != nil {
		t.Fatal(err)
	}
	_ = writer.Close()
}

// endless is an input that never comes; stop is called once somebody waits for it.
type endless struct {
	stop func()
	from *io.PipeReader
	to   *io.PipeWriter
}

func (e *endless) Read(into []byte) (int, error) {
	e.stop()
	return e.from.Read(into)
}
