//go:build linux

package cli

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
)

// serve starts a server in a process of its own.
func (w *killWorld) serve(args ...string) (cmd *exec.Cmd, at served) {
	w.t.Helper()
	cmd = exec.Command(w.self, append([]string{"serve", "--json", "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Env, cmd.Dir, cmd.Stderr = w.env, w.dir, &w.log
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // a test may have waited for it
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &at) != nil {
		w.t.Fatalf("it says %q: %v", line, err)
	}
	return cmd, at
}

// TestServe_AKilledServerLeavesNothingInTheWay: its socket stays, commands open the store
// themselves, what was acknowledged is there, and the next server takes its place.
func TestServe_AKilledServerLeavesNothingInTheWay(t *testing.T) {
	w := newKillWorld(t)
	cmd, at := w.serve()
	info, err := os.Lstat(at.Socket)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	first, err := os.ReadFile(at.Token)
	if err != nil {
		t.Fatal(err)
	}
	w.took("memory", "observe", "--id", "note-one", "--namespace", "a", "--content", "b")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if _, err := os.Lstat(filepath.Join(w.dir, "data", client.SocketName)); err != nil {
		t.Fatalf("the socket is gone with the server: %v", err)
	}
	var found struct{ ID string }
	if code := w.json(&found, "memory", "get", "note-one"); code != exitPassed || found.ID != "note-one" {
		t.Errorf("without a server: exit %d, %v", code, found)
	}
	cmd, at = w.serve()
	if again, err := os.ReadFile(at.Token); err != nil || string(again) != string(first) {
		t.Errorf("the token is another one: %v", err)
	}
	if code := w.json(&found, "memory", "get", "note-one"); code != exitPassed || found.ID != "note-one" {
		t.Errorf("with the next server: exit %d, %v", code, found)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("stopped by SIGTERM: %v", err)
	}
}
