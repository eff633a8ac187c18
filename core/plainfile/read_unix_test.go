//go:build unix

package plainfile_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/reflectory/reflectory/core/plainfile"
)

// TestOnlyAnInputMayBeAPipeOrDevice: a pipe that nobody writes to is refused at
// once, and no more than the limit is read from a device.
func TestOnlyAnInputMayBeAPipeOrDevice(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	readers := fileReaders(t, dir)
	for _, name := range []string{"ReadFile", "ReadFileIn"} {
		_, err := readers[name]("pipe", 100)
		wantRefusal(t, name, err, "file_unreadable", "it is a named pipe")
	}
	_, err := plainfile.Read("/dev/zero", 100)
	wantRefusal(t, "a device as a file", err, "file_unreadable", "it is a device")
	_, err = plainfile.ReadInput("/dev/zero", 100)
	wantRefusal(t, "a device as an input", err, "file_too_large", "more than 100 bytes")

	written := make(chan error)
	go func() { written <- os.WriteFile(pipe, []byte("from a pipe"), 0) }()
	if data, err := plainfile.ReadInput(pipe, 100); err != nil || string(data) != "from a pipe" {
		t.Errorf("from a pipe: %q, %v", data, err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}
