package host_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/core/store/postgres/postgrestest"
	"github.com/reflectory/reflectory/sdk"
)

// database is what tests of several hosts share.
var database postgrestest.Shared

// withDatabase ends the database with the tests.
type withDatabase struct{ *testing.M }

func (m withDatabase) Run() int { return database.Main(m.M) }

func TestMain(m *testing.M) { goleak.VerifyTestMain(withDatabase{m}) }

// settings are the defaults, with a data folder of the test's own.
func settings(t *testing.T) *config.Config {
	t.Helper()
	dir := t.TempDir()
	c, err := config.Load(config.Sources{Folder: dir, Flags: map[string]string{"data-dir": dir + "/data"}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// open opens a host, which is closed with the test.
func open(t *testing.T, c host.Config) *host.Host {
	t.Helper()
	if c.Settings == nil {
		c.Settings = settings(t)
	}
	h, err := host.Open(t.Context(), c)
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

// What one host commits, the other recalls at once, and no longer once it is purged.
func TestHosts_OnOneStoreRecallWhatTheOtherCommitted(t *testing.T) {
	s := mem.Open()
	one, other := open(t, host.Config{Store: s}), open(t, host.Config{Store: s})
	ctx := core.WithCaller(t.Context(), core.Operator("ada"))
	finds := func(h *host.Host, word string) bool {
		t.Helper()
		found, err := h.Memories.Recall(ctx, &core.RecallRequest{Query: word, Limit: 1, RecallFilter: core.RecallFilter{Namespace: "n"}})
		if err != nil {
			t.Fatal(err)
		}
		return len(found.Memories) == 1 && found.Memories[0].Content == word
	}
	for i := range coretest.Cases(150, 1000) {
		from, to := one, other
		if i%2 == 1 {
			from, to = other, one
		}
		word := fmt.Sprintf("fact%04dx", i)
		if _, err := from.Memories.Observe(ctx, &core.ObserveRequest{ID: fmt.Sprintf("fact-%04d", i), Namespace: "n", Content: word}); err != nil {
			t.Fatal(err)
		}
		if !finds(to, word) {
			t.Fatalf("%s isn't recalled by the other host", word)
		}
		if i%10 != 0 {
			continue
		}
		if _, err := from.Memories.Gate.Erase(ctx, fmt.Sprintf("fact-%04d", i), memory.EraseRequest{Reason: "it is wrong"}); err != nil {
			t.Fatal(err)
		}
		if finds(to, word) {
			t.Fatalf("%s was purged, and the other host recalls it", word)
		}
	}
}

// A feed gets what another host commits, each entry once and in order.
func TestHosts_FollowWhatTheOtherCommitted(t *testing.T) {
	s := mem.Open()
	one, other := open(t, host.Config{Store: s}), open(t, host.Config{Store: s})
	enough := errors.New("enough")
	heard := make(chan error, 1)
	var types []string
	go func() {
		heard <- one.Feed.Follow(t.Context(), journal.NamespaceStream("n"), 0, func(e journal.Entry) error {
			types = append(types, e.Type)
			if len(types) == 4 {
				return enough
			}
			return nil
		})
	}()
	for i := range 2 {
		if _, err := other.Memories.Observe(t.Context(), &core.ObserveRequest{Namespace: "n", Content: fmt.Sprint("fact ", i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-heard; !errors.Is(err, enough) {
		t.Fatal(err)
	}
	if got := fmt.Sprint(types); got != "[agent.memory.observed agent.records.written agent.memory.observed agent.records.written]" {
		t.Errorf("heard %s", got)
	}
}

// Nothing takes the store's lock before something is stored, and a host that is closed
// opens nothing any more.
func TestHost_OpensTheStoreWhenItIsNeeded(t *testing.T) {
	c := settings(t)
	one, other := open(t, host.Config{Settings: c}), open(t, host.Config{Settings: c})
	if _, err := one.Memories.Observe(t.Context(), &core.ObserveRequest{Namespace: "n", Content: "x"}); err != nil {
		t.Fatal(err)
	}
	c.LockWait.Value = "0s"
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	if err := other.Ready(t.Context()); err != nil {
		t.Errorf("the lock is free: %v", err)
	}
	if err := one.Ready(t.Context()); sdk.CodeOf(err) != sdk.Unavailable {
		t.Errorf("a closed host opened the store: %v", err)
	}
}

func TestHost_RefusesWhatItCantBeMadeOf(t *testing.T) {
	if _, err := host.Open(t.Context(), host.Config{}); sdk.ReasonOf(err) != "host_config_invalid" {
		t.Errorf("no settings: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := host.Open(ended, host.Config{Settings: settings(t)}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}
