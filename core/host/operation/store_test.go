package operation_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
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
		refused(t, tokenOf(t, "a/** b", core.ScopeOperate, core.ScopeStoreExport, core.ScopeStoreImport), c, name, in, "namespace_denied")
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
	if !strings.Contains(core.NewErrorInfo(err).Hint, h.Config.Settings.DataDir.Value) {
		t.Errorf("it says %v, hint %q", err, core.NewErrorInfo(err).Hint)
	}
}

func TestStoreImport_AddsNamespaces(t *testing.T) {
	from := toolsHost(t, mem.Open())
	observe(t, from, "team/a", "team/b", "other")
	for session, namespace := range map[string]string{"one": "team/a", "two": "other"} { // turns are counted there too
		ctx := core.WithCaller(t.Context(), core.Operator(""))
		_, err := from.Memories.Recall(ctx, &core.RecallRequest{Session: session, Query: "q", RecallFilter: core.RecallFilter{Namespace: namespace}})
		if err == nil {
			_, err = from.Memories.Feedback(ctx, &core.FeedbackRequest{Session: session, Turn: 1, Outcome: core.OutcomeSuccess})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
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
	counted := int64(0)
	err := h.Runs.Hours(t.Context(), time.Now().Add(-2*time.Hour), time.Now().Add(time.Hour), func(string) bool { return true }, func(c *run.HourCounts) { counted += c.Passed })
	if err != nil || counted != 1 {
		t.Errorf("%d turns are counted: %v", counted, err)
	}
}

func TestStoreBackup_IsACopyWithWhatTheHostKeeps(t *testing.T) {
	h := toolsHost(t, nil)
	c := operation.Call{Host: h, Local: true}
	observe(t, h, "n")
	if err := os.MkdirAll(filepath.Dir(h.Config.Settings.TrustFile.Value), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.Config.Settings.TrustFile.Value, []byte("keys: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "monday")
	refused(t, operator(t), c, "store_backup", &operation.StoreBackup{}, "folder_invalid")
	if at, known := h.Storage.LastBackup(); !known || !at.IsZero() {
		t.Errorf("the last backup is of %s, %t", at, known)
	}
	done := called[operation.Backup](t, operator(t), c, "store_backup", &operation.StoreBackup{Folder: to})
	if len(done.LeftOut) != 1 || done.LeftOut[0].Name != "trust file" {
		t.Errorf("%+v", done)
	}
	refused(t, operator(t), c, "store_backup", &operation.StoreBackup{Folder: to, All: true}, "backup_exists")
	to += "-all"
	if done = called[operation.Backup](t, operator(t), c, "store_backup", &operation.StoreBackup{Folder: to, All: true}); done.LeftOut == nil || len(done.LeftOut) != 0 {
		t.Errorf("%+v", done)
	}
	if at, known := h.Storage.LastBackup(); !known || at.IsZero() || at.After(h.Config.Clock.Now()) {
		t.Errorf("the last backup is of %s, %t", at, known)
	}
	restored := toolsHost(t, nil)
	if err := host.Restore(t.Context(), restored.Config.Settings, to, false); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(restored.Config.Settings.TrustFile.Value); string(text) != "keys: []\n" {
		t.Errorf("the trust file has %q, %v", text, err)
	}
	if page := called[operation.Memories](t, operator(t), operation.Call{Host: restored}, "memory_list", &operation.MemoryList{Namespace: "n"}); len(page.Items) != 1 {
		t.Errorf("restored %+v", page.Items)
	}
	other := toolsHost(t, mem.Open())
	refused(t, operator(t), operation.Call{Host: other, Local: true}, "store_backup", &operation.StoreBackup{Folder: to + "-mem"}, "store_not_local")
	if _, known := other.Storage.LastBackup(); known {
		t.Error("something is known of the backups of a store that isn't the host's own")
	}
}

func TestStorePrune_WritesFilesThatAreProven(t *testing.T) {
	h := toolsHost(t, mem.Open(), "REFLECTORY_KEEP_RUNS", "1ns")
	c := operation.Call{Host: h}
	aRun(t, h, "run-that-is-old", "n")
	counted := called[operation.Pruned](t, operator(t), c, "store_prune", &operation.StorePrune{DryRun: true})
	if counted.Runs == nil || counted.Runs.Streams != 1 || counted.Decisions != nil || counted.Folder != host.SegmentDir(h.Config.Settings) {
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

// TestStore_ContentsAreNotTheOperators: a token that runs a host neither reads nor replaces
// everything in its store, and a token for that does nothing else.
func TestStore_ContentsAreNotTheOperators(t *testing.T) {
	h := toolsHost(t, mem.Open())
	observe(t, h, "n")
	call := func() operation.Call {
		return operation.Call{Host: h, Sink: &bytes.Buffer{}, Body: strings.NewReader("")}
	}
	requests := map[string]any{
		"store_export": &operation.StoreExport{}, "store_import": &operation.StoreImport{}, "store_check": &operation.StoreCheck{},
		"token_new": grant("x", []core.Scope{core.ScopeStoreExport}, "**"), "status": &operation.StatusGet{},
		"governance_get": &operation.GovernanceGet{Namespace: "n"}, "memory_list": &operation.MemoryList{Namespace: "n"},
	}
	for scope, may := range map[core.Scope]string{
		core.ScopeOperate: "store_check status", core.ScopeStoreExport: "store_export", core.ScopeStoreImport: "store_import",
		core.ScopeMetrics: "", core.ScopeModel: "", core.ScopePolicy: "", core.ScopePlugin: "", core.ScopeMemoryErase: "", core.ScopeMemoryRead: "governance_get memory_list",
	} {
		for name, in := range requests {
			_, err := operation.Do(tokenOf(t, "**", scope), call(), name, in)
			if let := sdk.ReasonOf(err) != "scope_denied"; let != slices.Contains(strings.Fields(may), name) {
				t.Errorf("%s with %s: %v", name, scope, err)
			}
		}
	}
	for _, scope := range []core.Scope{core.ScopeStoreExport, core.ScopeStoreImport} {
		_, err := operation.Do(tokenOf(t, "n/**", scope), call(), strings.ReplaceAll(string(scope), ":", "_"), requests[strings.ReplaceAll(string(scope), ":", "_")])
		if sdk.ReasonOf(err) != "namespace_denied" {
			t.Errorf("%s for a part of the store: %v", scope, err)
		}
	}
}

// TestStore_FoldersOverTheNetworkAreBelowARoot that the operator chose; the operator's own
// commands write anywhere.
func TestStore_FoldersOverTheNetworkAreBelowARoot(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	link := func(name, to string) {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("out", outside)
	link("in", root)
	link("dangling", filepath.Join(outside, "nothing"))
	operate := tokenOf(t, "**", core.ScopeOperate)
	ask := map[string]func(h *host.Host, folder string, local bool) error{
		"store_backup": func(h *host.Host, folder string, local bool) error {
			_, err := operation.Do(operate, operation.Call{Host: h, Local: local}, "store_backup", &operation.StoreBackup{Folder: folder})
			return err
		},
		"store_prune": func(h *host.Host, folder string, local bool) error {
			_, err := operation.Do(operate, operation.Call{Host: h, Local: local}, "store_prune", &operation.StorePrune{Folder: folder, DryRun: true})
			return err
		},
		"a job": func(h *host.Host, folder string, local bool) error {
			_, err := operation.Do(operate, operation.Call{Host: h, Local: local, Queue: true}, "store_backup", &operation.StoreBackup{Folder: folder})
			return err
		},
	}
	none, set := toolsHost(t, nil), toolsHost(t, nil, "REFLECTORY_BACKUP_DIR", root)
	observe(t, none, "n")
	observe(t, set, "n")
	for name, ask := range ask {
		for _, folder := range []string{
			outside, filepath.Join(outside, "x"), "/etc/cron.d/x", root + "-next", filepath.Join(root, "..", "x"), "../x", "a/../../x", "..", "/",
			filepath.Join(root, "out", "x"), "out/x", "out", "in/out/x", "dangling", "dangling/x", root, ".",
		} {
			if err := ask(set, folder, false); sdk.ReasonOf(err) != "folder_denied" {
				t.Errorf("%s to %s: %v", name, folder, err)
			}
		}
		for i, folder := range []string{filepath.Join(root, name), name + " relative", filepath.Join("in", name+" below")} {
			if err := ask(none, folder, false); sdk.ReasonOf(err) != "folder_denied" {
				t.Errorf("%s to %s without a root: %v", name, folder, err)
			}
			if err := ask(set, folder, false); err != nil {
				t.Errorf("%s to %s, %d: %v", name, folder, i, err)
			}
		}
		if err := ask(none, filepath.Join(outside, name), true); err != nil {
			t.Errorf("%s of the operator: %v", name, err)
		}
	}
	if err := ask["store_prune"](none, "", false); err != nil {
		t.Errorf("pruning to the data folder: %v", err)
	}
	if _, err := os.Stat(filepath.Join(root, "store_backup relative")); err != nil {
		t.Errorf("a relative folder isn't below the root: %v", err)
	}
}
