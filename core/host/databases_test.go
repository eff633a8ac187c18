package host_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// openTenants opens a host on a main database, with a file of the databases of tenants.
func openTenants(ctx context.Context, t *testing.T, main, stores string) *host.Host {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "stores.yaml")
	if err := os.WriteFile(file, []byte(stores), 0o600); err != nil {
		t.Fatal(err)
	}
	settings, err := config.Load(config.Sources{Folder: dir, Flags: map[string]string{"data-dir": dir, "store": main, "stores": file}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(ctx, host.Config{Settings: settings})
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

// Tenants have databases of PostgreSQL. A host with another map, or with none, writes nothing of
// theirs.
func TestShared_TenantsHaveDatabases(t *testing.T) {
	ctx := core.WithCaller(t.Context(), core.Operator("ada"))
	cluster := database.Cluster(t)
	main, own, third := cluster.URL(t), cluster.URL(t), cluster.URL(t)
	one := openTenants(ctx, t, main, fmt.Sprintf("team: %q\nusers/ana: %q\n", own, own))
	before := openShared(ctx, t, main) // which was there before the tenants had a database
	observe := func(h *host.Host, namespace string) error {
		_, err := h.Memories.Observe(ctx, &core.ObserveRequest{Namespace: namespace, Title: namespace, Content: "It is " + namespace})
		return err
	}
	if err := before.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	if n := len(one.Databases.All()); n != 2 {
		t.Fatalf("%d databases", n)
	}
	for _, h := range one.Databases.All() {
		if err := h.Ready(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for _, namespace := range []string{"team/a", "users/ana", "users/bob", "staff"} {
		if err := observe(one.Databases.Of(namespace), namespace); err != nil {
			t.Errorf("%s: %v", namespace, err)
		}
	}
	if err := observe(before, "team/b"); sdk.ReasonOf(err) != store.TenantElsewhere {
		t.Errorf("a host without the map: %v", err)
	}
	if err := observe(one, "team/b"); sdk.ReasonOf(err) != host.TenantsApart {
		t.Errorf("the main database: %v", err)
	}
	stats := func() host.DatabaseStats {
		s, err := one.Databases.Of("team").Databases.Stats(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return *s
	}
	first := stats()
	const observed = 50
	for i := range observed {
		if _, err := one.Databases.Of("team").Memories.Observe(ctx, &core.ObserveRequest{Namespace: "team/b", Title: fmt.Sprint("note ", i), Content: "It is one"}); err != nil {
			t.Fatal(err)
		}
	}
	if trips := float64(stats().RoundTrips-first.RoundTrips) / observed; trips > 1.6 { // one, and what the root and the watch need
		t.Errorf("an observation takes %.2f round trips", trips)
	}
	alone := openShared(ctx, t, own)
	found, err := alone.Memories.Recall(ctx, &core.RecallRequest{Query: "team", RecallFilter: core.RecallFilter{Namespace: "team/a"}})
	if err != nil || len(found.Memories) != 1 {
		t.Errorf("the tenant's database has %v, %v", found, err)
	}
	wrong := openTenants(ctx, t, main, fmt.Sprintf("team: %q\n", third))
	if err := wrong.Databases.Of("team").Ready(ctx); sdk.ReasonOf(err) != store.TenantElsewhere {
		t.Errorf("a host with another map: %v", err)
	}
	late := openTenants(ctx, t, main, fmt.Sprintf("staff: %q\n", third))
	if err := late.Databases.Of("staff").Ready(ctx); sdk.ReasonOf(err) != "tenant_has_data" {
		t.Errorf("a tenant with data in the main database: %v", err)
	}
	if s, err := one.Databases.Stats(ctx); err != nil || s.Commits < 4 {
		t.Errorf("the databases' figures are %+v, %v", s, err)
	}
}
