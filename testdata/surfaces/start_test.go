package surfaces

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStart_TwoServersOnOneFolder: the second says who has the store, and the first keeps
// working.
func TestStart_TwoServersOnOneFolder(t *testing.T) {
	data := t.TempDir()
	first := start(t, data, "")
	if _, err := tryStart(t, data, ""); err == nil || !strings.Contains(err.Error(), "is in use by") {
		t.Errorf("a second server: %v", err)
	}
	first.operator().must(t, "GET", "/v1/status", nil)
	first.stop()
}

// TestStart_PortTaken: it says so, and opens nothing.
func TestStart_PortTaken(t *testing.T) {
	data, taken := t.TempDir(), freePort(t)
	if _, err := tryStart(t, data, taken.Addr().String()); err == nil || !strings.Contains(err.Error(), "another program listens") {
		t.Errorf("it says %v", err)
	}
	start(t, data, "").stop()
}

// TestStart_AfterAKill: the socket that is left disturbs nobody, the token is the same,
// and what was acknowledged is there, also for commands before the next server.
func TestStart_AfterAKill(t *testing.T) {
	data := t.TempDir()
	s := start(t, data, "")
	token := s.operator().token
	s.operator().must(t, "POST", "/v1/memories", map[string]any{"id": "kept-1", "namespace": "a", "content": "kept"})
	s.kill()
	if _, err := os.Lstat(filepath.Join(data, "host.sock")); err != nil {
		t.Fatalf("the socket is gone with the server: %v", err)
	}
	if out, err := command(t, data, "memory", "get", "kept-1"); err != nil {
		t.Errorf("a command after the kill: %v %s", err, out)
	}
	s = start(t, data, "")
	if now := s.operator().token; now != token {
		t.Error("the operator's token is another one")
	}
	s.operator().must(t, "GET", "/v1/memories/kept-1", nil)
	s.stop()
	if _, err := os.Lstat(filepath.Join(data, "host.sock")); err == nil {
		t.Error("a server that was stopped leaves its socket")
	}
}
