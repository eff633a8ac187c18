package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/store/pebble"
)

func TestStatusSaysWhoHasTheStoreOpen(t *testing.T) {
	dir := t.TempDir()
	s, err := pebble.Open(t.Context(), pebble.Options{Dir: filepath.Join(dir, "store"), Program: "holder", Durability: pebble.Relaxed})
	if err != nil {
		t.Fatal(err)
	}
	open := statusOf(t, dir)
	if !open.Exists || open.Bytes == 0 || open.Holder == nil || open.Holder.PID != os.Getpid() || open.Holder.Program != "holder" ||
		open.Holder.Durability != pebble.Relaxed || open.Durability != (config.Setting{Value: "full", Origin: "default"}) {
		t.Errorf("while it is open: %+v, %+v", open, open.Holder)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if closed := statusOf(t, dir); !closed.Exists || closed.Holder != nil {
		t.Errorf("once it is closed: %+v, %+v", closed, closed.Holder)
	}
}

// statusOf is the store's part of the status of a host with a data folder.
func statusOf(t *testing.T, dir string) host.StoreStatus {
	t.Helper()
	var out, errs bytes.Buffer
	env := map[string]string{"REFLECTORY_DATA_DIR": dir}
	if code := runProgram(t.Context(), []string{"status", "--json"}, nil, &out, &errs, func(name string) string { return env[name] }); code != exitPassed {
		t.Fatalf("exit %d: %s", code, &errs)
	}
	var s host.Status
	if err := json.Unmarshal(out.Bytes(), &s); err != nil {
		t.Fatal(err)
	}
	return s.Store
}
