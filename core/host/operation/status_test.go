package operation_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// TestStatus_SaysWhatIsWrongWithAPart: and opens nothing for it.
func TestStatus_SaysWhatIsWrongWithAPart(t *testing.T) {
	w := &world{T: t}
	dir := t.TempDir()
	lock := filepath.Join(dir, "reflectory.lock")
	w.Must(os.WriteFile(lock, []byte("{}"), 0o600))
	settings, err := config.Load(config.Sources{Folder: dir, Flags: map[string]string{"data-dir": filepath.Join(dir, "data"), "lock": lock}})
	w.Must(err)
	w.Host, err = host.Open(t.Context(), host.Config{Settings: settings, Version: "1.2.3"})
	w.Must(err)
	s := try[host.Status](w, "status", &operation.StatusGet{})
	if s.Version.Version != "1.2.3" || s.Store.Exists || s.Store.Problem != nil || s.Problem != nil || s.Config.DataDir.Value != filepath.Join(dir, "data") {
		t.Errorf("the status is %s", jsontext.MustEncode(s))
	}
	if s.Plugins.Problem == nil || s.Plugins.Problem.Code != "lock_format" || s.Plugins.List == nil {
		t.Errorf("the plugins are %s", jsontext.MustEncode(s.Plugins))
	}
	w.Must(w.Host.Close())
	if _, err := os.Stat(settings.DataDir.Value); !os.IsNotExist(err) {
		t.Errorf("the data folder was made: %v", err)
	}
	all := core.Caller{Subject: "one", Namespaces: []string{"**"}}
	for _, scope := range core.Scopes() {
		if scope != core.ScopeOperate {
			all.Scopes = append(all.Scopes, scope)
		}
	}
	_, err = w.Do(all, "status", &operation.StatusGet{})
	w.Refused(err, sdk.Denied, "scope_denied")
}

// TestStatus_OfAnotherStoreIsThatItIs: a Host that was given its store has no folder to
// report.
func TestStatus_OfAnotherStoreIsThatItIs(t *testing.T) {
	w := newWorld(t)
	if s := try[host.Status](w, "status", &operation.StatusGet{}); !s.Store.Exists || s.Store.Folder != "" {
		t.Errorf("the store is %+v", s.Store)
	}
}
