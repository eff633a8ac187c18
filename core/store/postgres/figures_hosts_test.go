//go:build bench

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/store/postgres"
	"github.com/reflectory/reflectory/core/store/postgres/postgrestest"
)

// sharers is how many writers the figures of sharing have: in one namespace or one each, of one
// host or of four.
const sharers, sharingHosts = 16, 4

// figureHost is one of several hosts in this process.
type figureHost struct {
	memories *memory.Memories
	n        *atomic.Uint64
}

func newFigureHost(t *testing.T, url string, n *atomic.Uint64) figureHost {
	t.Helper()
	fresh := &postgres.FreshIDs{}
	m, err := memory.New(memory.Options{Store: open(t, postgres.Options{URL: url, Fresh: fresh}), IDs: fresh.Note(&core.SystemIDs{})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return figureHost{m, n}
}

func (h figureHost) observe(ctx context.Context, namespace string) error {
	_, err := h.memories.Observe(ctx, &core.ObserveRequest{Namespace: namespace, Content: fmt.Sprintf("observation %d", h.n.Add(1))})
	return err
}

// TestFiguresHosts measures what hosts, or writers, lose by sharing a database or a namespace.
// All hosts are on this machine, and share its cores with the database.
func TestFiguresHosts(t *testing.T) {
	ctx := core.WithCaller(t.Context(), core.Operator("ada"))
	url := postgrestest.Start(t).URL(t)
	var n atomic.Uint64
	var hosts []figureHost
	for range sharingHosts {
		hosts = append(hosts, newFigureHost(t, url, &n))
	}
	kinds := []struct {
		name string
		fn   func(writer int) error
	}{
		{"namespaces", func(w int) error { return hosts[0].observe(ctx, fmt.Sprint("team/", w)) }},
		{"namespace", func(int) error { return hosts[0].observe(ctx, "team/one") }},
		{"hosts", func(w int) error { return hosts[w%sharingHosts].observe(ctx, fmt.Sprint("team/", w)) }},
	}
	took := map[string]coretest.Samples{}
	for round := range figureRounds + 1 {
		for _, k := range kinds {
			began := time.Now()
			measure(t, sharers, k.fn)
			if round > 0 { // the first warms up
				took[k.name] = append(took[k.name], time.Since(began)/(sharers*figureCalls))
			}
		}
	}
	rate := func(name string) float64 { return 1e6 / took[name].Micros(0.5) }
	for _, f := range []struct {
		name, key string
		target    float64
	}{{"16 writers in one namespace over 16 in their own", "namespace", 0.5}, {"16 writers of four hosts over one host's", "hosts", 0.9}} {
		coretest.Figure{
			Name: "PostgreSQL: observes of " + f.name, Value: rate(f.key) / rate("namespaces"), Unit: "×", Target: f.target, AtLeast: true,
			Note: fmt.Sprintf("%.0f over %.0f a second", rate(f.key), rate("namespaces")),
		}.Print(os.Stdout)
	}
	recallFigure(ctx, t, hosts)
}

// recallFigure measures the recalls of one host in a namespace to which another writes.
func recallFigure(ctx context.Context, t *testing.T, hosts []figureHost) {
	const namespace = "team/read"
	recall := func(int) error {
		_, err := hosts[1].memories.Recall(ctx, &core.RecallRequest{Query: "observation", RecallFilter: core.RecallFilter{Namespace: namespace}})
		return err
	}
	if err := errors.Join(hosts[0].observe(ctx, namespace), recall(0)); err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
				if err := hosts[0].observe(ctx, namespace); err != nil {
					done <- err
					return
				}
			}
		}
	}()
	var all coretest.Samples
	for range figureRounds {
		all = append(all, measure(t, 1, recall)...)
	}
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
	coretest.Figure{
		Name: "PostgreSQL: a recall next to another host's writes, p99", Value: all.Micros(0.99) / 1e3, Unit: "ms", Target: 5,
		Note: fmt.Sprintf("p50 %.1f ms", all.Micros(0.5)/1e3),
	}.Print(os.Stdout)
}

// TestFiguresFailover measures how long no commit is acknowledged once the standby is promoted.
func TestFiguresFailover(t *testing.T) {
	primary, standby := pair(t)
	primary.AwaitSync(t)
	s := open(t, postgres.Options{URL: primary.Either(standby)})
	commits(t, s, 20)
	if err := errors.Join(primary.Stop("immediate"), standby.Promote()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	commits(t, s, 1)
	coretest.Figure{
		Name: "PostgreSQL: failover, from the promotion to the next commit", Value: time.Since(began).Seconds(), Unit: "s", Target: 1,
	}.Print(os.Stdout)
}
