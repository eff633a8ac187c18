package config_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/sdk"
)

// A folder into which this user may not look is as unusable as one that can't be made.
func TestCheckDataDir_NamesAFolderThatIsClosed(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0); err != nil {
		t.Fatal(err)
	}
	err := make(chan error)
	go func() {
		// Root may look into any folder, so a thread of its own looks as another user. It
		// stays locked, and ends with the goroutine.
		runtime.LockOSThread()
		_, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, 65534, 0, 0)
		err <- config.CheckDataDir(dir)
	}()
	if e := sdk.AsError(<-err); e == nil || e.Reason != "store_unwritable" || !strings.Contains(e.Message, "this user may not look into "+dir+":") {
		t.Errorf("%v", e)
	}
}
