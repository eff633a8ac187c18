package policy_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/policypoint"
	"github.com/reflectory/reflectory/policy"
	"github.com/reflectory/reflectory/sdk"
)

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	temporary := filepath.Join(dir, ".new")
	if err := os.WriteFile(temporary, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temporary, path); err != nil {
		t.Fatal(err)
	}
}

// versions is how many texts the edited files go through.
const versions = 20

func version(n int) (a, b string) {
	code := fmt.Sprintf("v%d", n%versions)
	return deny("**", "true", code), deny("a/**", "true", code)
}

// states are the digests of what the folder is at some time: both files of a
// version, or the first one ahead.
func states(t *testing.T, points *policy.Points) map[string]bool {
	t.Helper()
	digests := map[string]bool{}
	for n := range versions {
		a, b := version(n)
		_, before := version(n + versions - 1)
		for _, second := range []string{b, before} {
			set, err := points.Load(folder("reflect/a.yaml", a, "reflect/b.yaml", second))
			if err != nil {
				t.Fatal(err)
			}
			digests[set.Digest()] = true
		}
	}
	return digests
}

// editing writes the files 1,000 times, now and then a broken one between.
func editing(t *testing.T, dir string) {
	t.Helper()
	for n := range coretest.Cases(100, 500) {
		a, b := version(n + 1)
		put(t, dir, "reflect/a.yaml", a)
		if n%7 == 3 {
			put(t, dir, "reflect/b.yaml", "rule: {match: [{output: oops")
		}
		put(t, dir, "reflect/b.yaml", b)
	}
}

// A folder is edited 1,000 times while it is read and while decisions are made:
// every set that decides is one that the folder once was, and every decision is
// made by a policy.
func TestAFolderEditedUnderLoadIsAlwaysWhole(t *testing.T) {
	dir, points := t.TempDir(), policy.AllPoints()
	p := policy.New(points, policy.Options{})
	a, b := version(0)
	put(t, dir, "reflect/a.yaml", a)
	put(t, dir, "reflect/b.yaml", b)
	if _, err := p.Reload(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	loaded, refused := map[string]bool{}, 0
	wg.Go(func() {
		for !stop.Load() {
			r, err := p.Reload(os.DirFS(dir))
			if err != nil {
				refused++
			}
			loaded[r.Digest] = true
		}
	})
	wg.Go(func() {
		for !stop.Load() {
			got := p.Reflect(context.Background(), nil, &policypoint.ReflectInput{Namespace: "a"})
			if got.Allow || got.Decision.Failure != nil || got.Code[0] != 'v' {
				t.Errorf("undecided: %+v", got)
				return
			}
		}
	})
	editing(t, dir)
	stop.Store(true)
	wg.Wait()
	known := states(t, points)
	for digest := range loaded {
		if !known[digest] {
			t.Errorf("a set decided that the folder never was: %s", digest)
		}
	}
	if len(loaded) < 2 {
		t.Errorf("only %d sets were loaded, %d refused", len(loaded), refused)
	}
}

func TestABadFolderNeverReplacesAGoodOne(t *testing.T) {
	p := load(t, "reflect/a.yaml", deny("**", "true", "good"))
	before := p.Set()
	r, err := p.Reload(folder("reflect/a.yaml", deny("**", "true", "better"), "gate/b.yaml", "rule: {}"))
	if sdk.ReasonOf(err) != "policy_invalid" || r.Failure == nil || r.Digest != before.Digest() || p.Set() != before {
		t.Fatalf("got %+v, %v", r, err)
	}
	if got := p.Reflect(context.Background(), nil, &policypoint.ReflectInput{}); got.Code != "good" {
		t.Errorf("got %q", got.Code)
	}
	if r, err = p.Reload(folder()); err != nil || r.Files != 0 || r.Previous != before.Digest() || p.Set().Digest() != r.Digest {
		t.Errorf("an empty folder leaves the defaults: %+v, %v", r, err)
	}
}

func TestFollowReloadsAFolderThatChanges(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir := t.TempDir()
	p := policy.New(policy.AllPoints(), policy.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	reloads := make(chan policy.Reload, 10)
	done := make(chan error)
	go func() { done <- p.Follow(ctx, dir, func(r policy.Reload) { reloads <- r }) }()
	next := func() policy.Reload {
		select {
		case r := <-reloads:
			return r
		case <-time.After(5 * time.Minute): // only what never comes takes so long
			t.Fatal("nothing was reloaded")
		}
		return policy.Reload{}
	}
	put(t, dir, "reflect/a.yaml", deny("**", "true", "one"))
	if r := next(); r.Failure != nil || r.Files != 1 || p.Set().Digest() != r.Digest {
		t.Fatalf("got %+v", r)
	}
	put(t, dir, "reflect/a.yaml", "rule")
	if r := next(); r.Failure == nil || r.Failure.Code != "policy_invalid" || p.Set().Digest() != r.Previous {
		t.Fatalf("got %+v", r)
	}
	put(t, dir, "reflect/a.yaml", deny("**", "true", "two"))
	if r := next(); r.Failure != nil || r.Digest == r.Previous {
		t.Fatalf("got %+v", r)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := p.Follow(context.Background(), filepath.Join(dir, "nowhere"), nil); sdk.ReasonOf(err) != "policy_folder_unwatched" {
		t.Errorf("got %v", err)
	}
}
