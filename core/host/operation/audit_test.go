package operation_test

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/sdk"
)

// toolsHost is a host on a store in memory, or, if there is none, on the store of a new
// folder, with more settings from the environment.
func toolsHost(t *testing.T, db core.Store, env ...string) *host.Host {
	t.Helper()
	dir := t.TempDir()
	settings, err := config.Load(config.Sources{Folder: dir, Getenv: func(name string) string {
		for i := 0; i+1 < len(env); i += 2 {
			if env[i] == name {
				return env[i+1]
			}
		}
		if name == "REFLECTORY_DATA_DIR" {
			return filepath.Join(dir, "data")
		}
		return ""
	}})
	if err != nil {
		t.Fatal(err)
	}
	if db != nil {
		err = store.Prepare(t.Context(), db)
	}
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(t.Context(), host.Config{Settings: settings, Store: db})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// operator is the context of a caller that may do everything.
func operator(t *testing.T) context.Context {
	return core.WithCaller(t.Context(), core.Operator("ada"))
}

// tokenOf is a context of a caller with these scopes in these namespaces.
func tokenOf(t *testing.T, namespaces string, scopes ...core.Scope) context.Context {
	return core.WithCaller(t.Context(), core.Caller{Subject: "bot", Scopes: scopes, Namespaces: strings.Fields(namespaces)})
}

// called calls an operation that must work.
func called[Out any](t *testing.T, ctx context.Context, c operation.Call, name string, in any) *Out {
	t.Helper()
	out, err := operation.Do(ctx, c, name, in)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out.(*Out)
}

// refused calls an operation that must be refused for a reason, and returns the error.
func refused(t *testing.T, ctx context.Context, c operation.Call, name string, in any, reason string) error {
	t.Helper()
	out, err := operation.Do(ctx, c, name, in)
	if sdk.ReasonOf(err) != reason {
		t.Fatalf("%s gives %v, %v (%s), want %s", name, out, err, sdk.ReasonOf(err), reason)
	}
	return err
}

func observe(t *testing.T, h *host.Host, namespaces ...string) {
	t.Helper()
	for _, namespace := range namespaces {
		called[core.Memory](t, operator(t), operation.Call{Host: h}, "memory_observe", &core.ObserveRequest{Namespace: namespace, Content: "zebras sleep"})
	}
}

// aRun stores a run that has ended.
func aRun(t *testing.T, h *host.Host, id, namespace string) {
	t.Helper()
	run := &core.Run{ID: id, Namespace: namespace, Workflow: "w", State: []byte("{}"), StartedAt: time.Unix(1, 0).UTC()}
	if err := h.Runs.Create(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	run.Status, run.StopReason = core.StatusPassed, core.StopValid
	if err := h.Runs.Recorder(run).RecordEnd(t.Context(), run, nil); err != nil {
		t.Fatal(err)
	}
}

func streamNames(page *operation.Page[journal.StreamHead]) (names []string) {
	for _, s := range page.Items {
		names = append(names, s.Stream)
	}
	return names
}

func TestAuditStreams_ShowWhatTheCallerMayRead(t *testing.T) {
	h := toolsHost(t, mem.Open())
	c := operation.Call{Host: h}
	observe(t, h, "team/a", "team/b")
	aRun(t, h, "run-of-a", "team/a")
	aRun(t, h, "run-of-nobody", "")
	called[operation.Head](t, operator(t), c, "audit_head", &operation.AuditHead{})
	for _, test := range []struct {
		ctx  context.Context
		want string
	}{
		{operator(t), "namespace/team/a namespace/team/b root run/run-of-a run/run-of-nobody"},
		{tokenOf(t, "team/a", core.ScopeMemoryRead), "namespace/team/a run/run-of-a"},
		{tokenOf(t, "default team/b", core.ScopeMemoryRead, core.ScopeOperate), "namespace/team/b run/run-of-nobody"},
		{tokenOf(t, "**", core.ScopeMemoryRead), "namespace/team/a namespace/team/b run/run-of-a run/run-of-nobody"},
		{tokenOf(t, "team", core.ScopeMemoryRead), ""},
	} {
		page := called[operation.Page[journal.StreamHead]](t, test.ctx, c, "audit_streams", &operation.AuditStreams{})
		if got := strings.Join(streamNames(page), " "); got != test.want || page.Items == nil {
			t.Errorf("%v sees %q, want %q", core.CallerOf(test.ctx).Namespaces, got, test.want)
		}
		var paged []string
		for in := (operation.AuditStreams{Paging: operation.Paging{Limit: 1}}); ; {
			one := called[operation.Page[journal.StreamHead]](t, test.ctx, c, "audit_streams", &in)
			paged = append(paged, streamNames(one)...)
			if in.PageToken = one.NextPageToken; in.PageToken == "" {
				break
			}
		}
		if got := strings.Join(paged, " "); got != test.want {
			t.Errorf("%v sees %q page by page, want %q", core.CallerOf(test.ctx).Namespaces, got, test.want)
		}
	}
	refused(t, tokenOf(t, "**", core.ScopeOperate), c, "audit_streams", &operation.AuditStreams{}, "scope_denied")
	refused(t, operator(t), c, "audit_streams", &operation.AuditStreams{Paging: operation.Paging{PageToken: "x"}}, "invalid_page_token")
}

func TestAuditEntries_ArePagedFromTheEndOrFromANumber(t *testing.T) {
	h := toolsHost(t, mem.Open())
	c := operation.Call{Host: h}
	observe(t, h, "n", "n", "n") // each has an event of its records
	for _, test := range []struct {
		from uint64
		want string
	}{{0, "5 6,3 4,1 2"}, {2, "2 3,4 5,6"}, {9, ""}} {
		var pages []string
		for in := (operation.AuditEntries{Stream: "namespace/n", From: test.from, Paging: operation.Paging{Limit: 2}}); ; {
			page := called[operation.StreamEntries](t, operator(t), c, "audit_entries", &in)
			if page.Head.Seq != 6 || page.Items == nil {
				t.Fatalf("%+v", page)
			}
			var numbers []string
			for _, e := range page.Items {
				numbers = append(numbers, string(rune('0'+e.Seq)))
			}
			pages = append(pages, strings.Join(numbers, " "))
			if in.PageToken = page.NextPageToken; in.PageToken == "" {
				break
			}
		}
		if got := strings.Join(pages, ","); got != test.want {
			t.Errorf("from %d: %s, want %s", test.from, got, test.want)
		}
	}
	// What comes meanwhile moves no page.
	first := called[operation.StreamEntries](t, operator(t), c, "audit_entries", &operation.AuditEntries{Stream: "namespace/n", Paging: operation.Paging{Limit: 2}})
	observe(t, h, "n")
	second := called[operation.StreamEntries](t, operator(t), c, "audit_entries", &operation.AuditEntries{
		Stream: "namespace/n", Paging: operation.Paging{Limit: 2, PageToken: first.NextPageToken},
	})
	if len(second.Items) != 2 || second.Items[1].Seq != 4 {
		t.Errorf("then: %+v", second.Items)
	}
	refused(t, operator(t), c, "audit_entries", &operation.AuditEntries{Stream: "namespace/n", From: 2, Paging: operation.Paging{PageToken: first.NextPageToken}}, "invalid_page_token")
}

// A caller learns of no stream that it may not read, not even whether it is there.
func TestAuditEntries_TellNothingOfOtherStreams(t *testing.T) {
	h := toolsHost(t, mem.Open())
	c := operation.Call{Host: h}
	observe(t, h, "team/a", "team/b")
	aRun(t, h, "run-of-b", "team/b")
	called[operation.Head](t, operator(t), c, "audit_head", &operation.AuditHead{})
	bot := tokenOf(t, "team/a", core.ScopeMemoryRead)
	called[operation.StreamEntries](t, bot, c, "audit_entries", &operation.AuditEntries{Stream: "namespace/team/a"})
	same := func(ctx context.Context, there, absent, reason string) {
		t.Helper()
		one := refused(t, ctx, c, "audit_entries", &operation.AuditEntries{Stream: there}, reason)
		other := refused(t, ctx, c, "audit_entries", &operation.AuditEntries{Stream: absent}, reason)
		if got := bytes.ReplaceAll(jsontext.MustEncode(core.NewErrorInfo(one)), []byte(there[strings.Index(there, "/")+1:]), []byte(absent[strings.Index(absent, "/")+1:])); !bytes.Equal(got, jsontext.MustEncode(core.NewErrorInfo(other))) {
			t.Errorf("%s is refused with %s, and %s, which isn't there, with %s", there, got, absent, jsontext.MustEncode(core.NewErrorInfo(other)))
		}
	}
	same(bot, "run/run-of-b", "run/run-of-x", "stream_not_found")
	same(bot, "namespace/team/b", "namespace/team/x", "namespace_denied")
	same(bot, "root", "toor", "scope_denied")
	same(tokenOf(t, "team/a", core.ScopeMemoryRead, core.ScopeOperate), "root", "toor", "namespace_denied")
	refused(t, operator(t), c, "audit_entries", &operation.AuditEntries{Stream: "run/run-of-x"}, "stream_not_found")
	refused(t, operator(t), c, "audit_entries", &operation.AuditEntries{Stream: "toor"}, "stream_not_found")
	called[operation.StreamEntries](t, tokenOf(t, "team/b", core.ScopeMemoryRead), c, "audit_entries", &operation.AuditEntries{Stream: "run/run-of-b"})
}

func TestAuditVerify_FindsWhatWasChanged(t *testing.T) {
	db := mem.Open()
	h := toolsHost(t, db)
	c := operation.Call{Host: h}
	observe(t, h, "n", "n")
	head := called[operation.Head](t, operator(t), c, "audit_head", &operation.AuditHead{})
	audited := called[operation.Audited](t, operator(t), c, "audit_verify", &operation.AuditVerify{Head: &head.Text})
	if !audited.Valid || audited.Kept != head.Text || audited.Entries < 4 {
		t.Errorf("%+v", audited)
	}
	empty := ""
	refused(t, operator(t), c, "audit_verify", &operation.AuditVerify{Head: &empty}, "head_invalid")
	if err := db.Update(t.Context(), func(tx core.Tx) error { return tx.Delete(journal.EntryKey("namespace/n", 2)) }); err != nil {
		t.Fatal(err)
	}
	audited = called[operation.Audited](t, operator(t), c, "audit_verify", &operation.AuditVerify{})
	if audited.Valid || audited.Problem == nil || audited.Problem.Code != "journal_broken" {
		t.Errorf("%+v", audited)
	}
	for name, in := range map[string]any{"audit_head": &operation.AuditHead{}, "audit_verify": &operation.AuditVerify{}, "audit_verify_segment": &operation.AuditVerifySegment{}} {
		refused(t, tokenOf(t, "**", core.ScopeMemoryRead), c, name, in, "scope_denied")
		refused(t, tokenOf(t, "n", core.ScopeOperate), c, name, in, "namespace_denied")
	}
}

func TestAuditVerifySegment_ProvesWhatAPruningWrote(t *testing.T) {
	h := toolsHost(t, mem.Open(), "REFLECTORY_KEEP_RUNS", "1ns")
	c := operation.Call{Host: h}
	refused(t, operator(t), c, "audit_verify_segment", &operation.AuditVerifySegment{}, "body_missing")
	c.Body = strings.NewReader("no segments\n")
	checked := called[operation.AuditedSegment](t, operator(t), c, "audit_verify_segment", &operation.AuditVerifySegment{Name: "old.jsonl"})
	if checked.Valid || !strings.HasPrefix(checked.Problem.Message, "old.jsonl: ") {
		t.Errorf("%+v", checked)
	}
}

// Where another host appends to the journal's root, this one reads its head.
func TestAuditHead_OfARootThatAnotherHostWrites(t *testing.T) {
	db := mem.Open()
	h := toolsHost(t, db)
	err := db.Update(t.Context(), func(tx core.Tx) error {
		return tx.Put([]byte("lease/"+store.LeaseRoot), jsontext.MustEncode(store.LeaseRecord{Holder: "other", Epoch: 1, Beat: 1}))
	})
	if err == nil {
		err = h.Membership.Join(operator(t), host.JoinOptions{})
	}
	if err == nil {
		_, err = h.Memories.Observe(operator(t), &core.ObserveRequest{Namespace: here, Content: "the harbour closes at noon"})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"store_prune", "audit_head"} {
		in := map[string]any{"store_prune": &operation.StorePrune{}, "audit_head": &operation.AuditHead{}}[name]
		if _, err := operation.Do(operator(t), operation.Call{Host: h}, name, in); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		err := db.View(t.Context(), func(r core.Reader) error {
			head, err := journal.ReadHead(r, journal.RootStream)
			if head.Seq != 0 {
				t.Errorf("%s appended to the root", name)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}
