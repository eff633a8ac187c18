package store_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/storetest"
	"github.com/reflectory/reflectory/sdk"
)

// joined is a host of these formats that lives.
func joined(t *testing.T, s core.Store, id string, formats ...int) *store.Member {
	t.Helper()
	m, err := store.NewMember(store.MemberOptions{Store: s, Host: store.HostRecord{ID: id, Version: "v1", Formats: formats}})
	if err == nil {
		err = m.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A migration begins once every live host lists the new format. Until then nothing changes.
func TestFormats_MigrationAwaitsOlderHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := seeded(t, "meta/format", "2")
		storetest.FillOldFormat(t, s, 10)
		next := storetest.NextFormat()
		prepare := func() error { return next.PrepareShared(t.Context(), s, store.DefaultGone) }
		both := joined(t, s, "both", store.Format, next.Newest)
		defer both.Stop(context.Background())
		older := joined(t, s, "older")
		if err := prepare(); sdk.ReasonOf(err) != "store_format_awaited" || sdk.AsError(err).Details["host"] != "older" {
			t.Errorf("while an older host lives: %v", err)
		}
		if v := value(t, s, "meta/format"); v != "2" {
			t.Errorf("the format is %s", v)
		}
		if err := older.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := prepare(); err != nil || time.Since(began) != 0 {
			t.Errorf("once it has left, after %s: %v", time.Since(began), err)
		}
		storetest.CheckNextFormat(t, s, 10)
	})
}

// A host that was killed left its record, and is waited for until it counts as gone.
func TestFormats_MigrationForgetsHostsThatAreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := seeded(t, "meta/format", "2", "host/killed", `{"id":"killed","beat":7,"formats":[2],"started_at":"2026-01-01T00:00:00Z"}`)
		storetest.FillOldFormat(t, s, 10)
		began := time.Now()
		if err := storetest.NextFormat().PrepareShared(t.Context(), s, store.DefaultGone); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited < store.DefaultGone || waited > 2*store.DefaultGone {
			t.Errorf("it waited for %s", waited)
		}
		storetest.CheckNextFormat(t, s, 10)
	})
}

// A host that comes while the migration is about to begin is waited for, too.
func TestFormats_MigrationSeesHostsThatCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := seeded(t, "meta/format", "2")
		var late *store.Member
		racing := &overtaken{s, func() { late = joined(t, s, "late") }}
		err := storetest.NextFormat().PrepareShared(t.Context(), racing, store.DefaultGone)
		if sdk.ReasonOf(err) != "store_format_awaited" {
			t.Errorf("a host has come: %v", err)
		}
		if err := late.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}
