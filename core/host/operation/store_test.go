package operation_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/mem"
)

// exported is an export of a host's store.
func exported(t *testing.T, h *host.Host) []byte {
	t.Helper()
	var out bytes.Buffer
	var told []operation.Progress
	moved := called[store.Moved](t, operator(t), operation.Call{Host: h, Sink: &out, Progress: func(p operation.Progress) { told = append(told, p) }}, "store_export", &operation.StoreExport{})
	if moved.Bytes != int64(out.Len()) || moved.Records == 0 {
		t.Fatalf("%+v of %d bytes", moved, out.Len())
	}
	return out.Bytes()
}

func TestStore_IsForOperatorsOfEveryNamespace(t *testing.T) {
	c := operation.Call{Host: toolsHost(t, mem.Open()), Sink: &bytes.Buffer{}, Body: strings.NewReader("")}
	for name, in := range map[string]any{
		"store_check": &operation.StoreCheck{}, "store_export": &operation.StoreExport{}, "store_import": &operation.StoreImport{},
		"store_backup": &operation.StoreBackup{Folder: "x"}, "store_prune": &operation.StorePrune{},
	} {
		refused(t, tokenOf(t, "**", core.ScopeMemoryRead, core.ScopeMemoryErase), c, name, in, "scope_denied")
		refused(t, tokenOf(t, "a/** b", core.ScopeOperate), c, name, in, "namespace_denied")
	}
}

func TestStoreCheck_FindsAndRepairs(t *testing.T) {
	db := mem.Open()
	h := toolsHost(t, db)
	var told []operation.Progress
	c := operation.Call{Host: h, Progress: func(p operation.Progress) { told = append(told, p) }}
	observe(t, h, "n")
	if checked := called[operation.StoreChecked](t, operator(t), c, "store_check", &operation.StoreCheck{}); !checked.Valid || checked.Problems == nil {
		t.Errorf("%+v", checked)
	}
	if last := told[len(told)-1]; last.Doing != "checking" || last.What != "records" {
		t.Errorf("it says last %+v", last)
	}
	drop := func(prefix string) {
		t.Helper()
		err := db.Update(t.Context(), func(tx core.Tx) error {
			var keys [][]byte
			err := core.ScanPrefix(tx, []byte(prefix), func(key, _ []byte) (bool, error) {
				keys = append(keys, bytes.Clone(key))
				return true, nil
			})
			for _, key := range keys {
				err = core.JoinErrors(err, tx.Delete(key))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	drop("memory-state/n")
	checked := called[operation.StoreChecked](t, operator(t), c, "store_check", &operation.StoreCheck{})
	if checked.Valid || checked.Count != len(checked.Problems) || checked.Count == 0 || !checked.Problems[0].Rebuildable {
		t.Errorf("%+v", checked)
	}
	if checked = called[operation.StoreChecked](t, operator(t), c, "store_check", &operation.StoreCheck{Repair: true}); !checked.Valid || !checked.Repaired {
		t.Errorf("%+v", checked)
	}
}

func TestStoreImport_TakesThePlaceOfAStoreThatIsntOpen(t *testing.T) {
	from := toolsHost(t, mem.Open())
	observe(t, from, "n", "team/a")
	export := exported(t, from)
	refused(t, operator(t), operation.Call{Host: from}, "store_export", &operation.StoreExport{}, "sink_missing")
	refused(t, operator(t), operation.Call{Host: from}, "store_import", &operation.StoreImport{}, "body_missing")
	refused(t, operator(t), operation.Call{Host: from, Body: bytes.NewReader(export)}, "store_import", &operation.StoreImport{}, "store_not_local")

	h := toolsHost(t, nil)
	sent := func(data []byte) operation.Call { return operation.Call{Host: h, Body: bytes.NewReader(data)} }
	refused(t, operator(t), sent(export[:len(export)-20]), "store_import", &operation.StoreImport{}, "import_invalid")
	refused(t, operator(t), sent(export), "store_import", &operation.StoreImport{Replace: true, Namespaces: []string{"n"}}, "import_invalid")
	if done := called[host.Imported](t, operator(t), sent(export), "store_import", &operation.StoreImport{}); done.Bytes != int64(len(export)) || done.Records == 0 {
		t.Errorf("%+v", done)
	}
	refused(t, operator(t), sent(export), "store_import", &operation.StoreImport{}, "store_not_empty")
	called[host.Imported](t, operator(t), sent(export), "store_import", &operation.StoreImport{Replace: true})
	if got := exported(t, h); !bytes.Equal(got, export) { // which opened the store
		t.Errorf("imported as\n%s, not\n%s", got, export)
	}
	err := refused(t, operator(t), sent(export), "store_import", &operation.StoreImport{Replace: true}, "store_in_use")
	if !strings.Contains(core.NewErrorInfo(err).Hint, h.Settings().DataDir.Value) {
		t.Errorf("it says %v, hint %q", err, core.NewErrorInfo(err).Hint)
	}
}

func TestStoreImport_AddsNamespaces(t *testing.T) {
	from := toolsHost(t, mem.Open())
	observe(t, from, "team/a", "team/b", "other")
	export := exported(t, from)
	h := toolsHost(t, nil)
	done := called[host.Imported](t, operator(t), operation.Call{Host: h, Body: bytes.NewReader(export)}, "store_import", &operation.StoreImport{Namespaces: []string{"team/**"}})
	if strings.Join(done.Namespaces, " ") != "team/a team/b" || done.Records == 0 {
		t.Errorf("%+v", done)
	}
	streams := called[operation.Page[journal.StreamHead]](t, tokenOf(t, "**", core.ScopeMemoryRead), operation.Call{Host: h}, "audit_streams", &operation.AuditStreams{})
	if got := strings.Join(streamNames(streams), " "); got != "namespace/team/a namespace/team/b" {
		t.Errorf("the store has %s", got)
	}
}

func TestStoreBackup_IsACopyWithWhatTheHostKeeps(t *testing.T) {
	h := toolsHost(t, nil)
	c := operation.Call{Host: h}
	observe(t, h, "n")
	if err := os.MkdirAll(filepath.Dir(h.Settings().TrustFile.Value), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.Settings().TrustFile.Value, []byte("keys: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "monday")
	refused(t, operator(t), c, "store_backup", &operation.StoreBackup{}, "folder_invalid")
	done := called[operation.Backup](t, operator(t), c, "store_backup", &operation.StoreBackup{Folder: to})
	if len(done.LeftOut) != 1 || done.LeftOut[0].Name != "trust file" {
		t.Errorf("%+v", done)
	}
	refused(t, operator(t), c, "store_backup", &operation.StoreBackup{Folder: to, All: true}, "backup_exists")
	to += "-all"
	if done = called[operation.Backup](t, operator(t), c, "store_backup", &operation.StoreBackup{Folder: to, All: true}); done.LeftOut == nil || len(done.LeftOut) != 0 {
		t.Errorf("%+v", done)
	}
	restored := toolsHost(t, nil)
	if err := host.Restore(t.Context(), restored.Settings(), to, false); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(restored.Settings().TrustFile.Value); string(text) != "keys: []\n" {
		t.Errorf("the trust file has %q, %v", text, err)
	}
	if page := called[operation.Memories](t, operator(t), operation.Call{Host: restored}, "memory_list", &operation.MemoryList{Namespace: "n"}); len(page.Items) != 1 {
		t.Errorf("restored %+v", page.Items)
	}
	refused(t, operator(t), operation.Call{Host: toolsHost(t, mem.Open())}, "store_backup", &operation.StoreBackup{Folder: to + "-mem"}, "store_not_local")
}

func TestStorePrune_WritesFilesThatAreProven(t *testing.T) {
	h := toolsHost(t, mem.Open(), "REFLECTORY_KEEP_RUNS", "1ns")
	c := operation.Call{Host: h}
	aRun(t, h, "run-that-is-old", "n")
	counted := called[operation.Pruned](t, operator(t), c, "store_prune", &operation.StorePrune{DryRun: true})
	if counted.Runs == nil || counted.Runs.Streams != 1 || counted.Decisions != nil || counted.Folder != host.SegmentDir(h.Settings()) {
		t.Fatalf("%+v", counted)
	}
	pruned := called[operation.Pruned](t, operator(t), c, "store_prune", &operation.StorePrune{})
	if pruned.Runs.Streams != 1 || len(pruned.Runs.Files) != 1 {
		t.Fatalf("%+v", pruned.Runs)
	}
	text, err := os.ReadFile(filepath.Join(pruned.Folder, pruned.Runs.Files[0].Name))
	if err != nil {
		t.Fatal(err)
	}
	for valid, data := range map[bool][]byte{true: text, false: text[:len(text)-5]} {
		checked := called[operation.AuditedSegment](t, operator(t), operation.Call{Host: h, Body: bytes.NewReader(data)}, "audit_verify_segment", &operation.AuditVerifySegment{})
		if checked.Valid != valid || valid != (checked.Problem == nil) {
			t.Errorf("%+v, want %v", checked, valid)
		}
	}
	entries := called[operation.StreamEntries](t, operator(t), c, "audit_entries", &operation.AuditEntries{Stream: "run/run-that-is-old"})
	if entries.Pruned == nil || entries.Pruned.File != pruned.Runs.Files[0].Name || len(entries.Items) != 0 {
		t.Errorf("%+v", entries)
	}
	// What is left of it says nothing of where it was: only who reaches all may see it.
	refused(t, tokenOf(t, "n", core.ScopeMemoryRead), c, "audit_entries", &operation.AuditEntries{Stream: "run/run-that-is-old"}, "stream_not_found")
}
