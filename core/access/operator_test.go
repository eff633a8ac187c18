package access_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/sdk"
)

func TestOperatorTokenIsMadeOnce(t *testing.T) {
	g := newGate(t)
	if _, err := g.OperatorToken(); sdk.CodeOf(err) != sdk.NotFound || sdk.ReasonOf(err) != "operator_token_missing" {
		t.Errorf("before: %v", err)
	}
	made, err := g.EnsureOperatorToken(g.ctx)
	if err != nil || !made {
		t.Fatalf("made %v, %v", made, err)
	}
	token, err := g.OperatorToken()
	g.must(err)
	info, err := os.Stat(g.file)
	g.must(err)
	if info.Mode() != 0o600 {
		t.Errorf("its mode is %s", info.Mode())
	}
	made, err = g.another().EnsureOperatorToken(g.ctx)
	if again, _ := g.OperatorToken(); err != nil || made || again != token {
		t.Errorf("a second time: made %v, %v", made, err)
	}
	g.clock.Advance(1000 * day) // it doesn't expire
	g.check("the operator's token", token, core.OperatorSubject)
	if names, _ := filepath.Glob(g.file + ".*"); len(names) > 0 {
		t.Errorf("%q is left", names)
	}
}

func TestOperatorTokenIsMadeOnceByMany(t *testing.T) {
	g := newGate(t)
	var made atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			done, err := g.EnsureOperatorToken(g.ctx)
			if err != nil {
				t.Error(err)
			}
			if done {
				made.Add(1)
			}
		})
	}
	all.Wait()
	if made.Load() != 1 {
		t.Errorf("it was made %d times", made.Load())
	}
	token, err := g.OperatorToken()
	g.must(err)
	g.check("the one that is there", token, core.OperatorSubject)
}

func TestOperatorTokenIsReplaced(t *testing.T) {
	g := newGate(t)
	old, err := g.ReplaceOperatorToken(g.ctx) // also where there is none
	g.must(err)
	other := g.another()
	c, err := other.Authenticate(g.ctx, string(old))
	g.holds("another process", c, err, core.OperatorSubject)
	token, err := g.ReplaceOperatorToken(g.ctx)
	g.must(err)
	g.check("the new one", token, core.OperatorSubject)
	c, err = other.Authenticate(g.ctx, string(old))
	g.refused("the old one in another process", c, err)
	if got := strings.Join(g.events(), "\n"); strings.Count(got, "operator agent.access.operator_token_issued") != 2 {
		t.Errorf("the journal has %s", got)
	}
}

// TestOperatorTokenThatOthersMayKnowLetsNobodyIn is for files that aren't the operator's
// alone, or hold something else.
func TestOperatorTokenThatOthersMayKnowLetsNobodyIn(t *testing.T) {
	g := newGate(t)
	token, err := g.ReplaceOperatorToken(g.ctx)
	g.must(err)
	text, elsewhere := string(token), filepath.Join(t.TempDir(), "elsewhere")
	write := func(text string) error {
		return os.WriteFile(g.file, []byte(text), 0o600)
	}
	for what, change := range map[string]func() error{
		"readable by a group": func() error { return os.Chmod(g.file, 0o640) },
		"readable by all":     func() error { return os.Chmod(g.file, 0o604) },
		"writable by a group": func() error { return os.Chmod(g.file, 0o620) },
		"a link":              func() error { return os.Symlink(elsewhere, remade(g.file)) },
		"a folder":            func() error { return os.Mkdir(remade(g.file), 0o700) },
		"empty":               func() error { return write("") },
		"cut":                 func() error { return write(text[:40]) },
		"another id":          func() error { return write(strings.Replace(text, "operator", "0123456789abcdef", 1)) },
		"more":                func() error { return write(text + "\n" + text + "\n") },
		"very long":           func() error { return write(strings.Repeat("x", 1<<20)) },
	} {
		t.Run(what, func(t *testing.T) {
			g.t = t
			g.must(os.RemoveAll(g.file))
			g.must(write(text + "\n"))
			g.check("before", token, core.OperatorSubject)
			g.must(os.WriteFile(elsewhere, []byte(text+"\n"), 0o600))
			g.must(change())
			g.check("after", token, "")
			_, err := g.EnsureOperatorToken(g.ctx)
			if sdk.CodeOf(err) != sdk.Denied || sdk.ReasonOf(err) != "operator_token_unsafe" || sdk.AsError(err).Try == nil {
				t.Errorf("%v", err)
			}
			if err != nil && strings.Contains(err.Error(), text[20:]) {
				t.Errorf("the error shows the token: %v", err)
			}
		})
	}
	g.t = t
	g.must(os.RemoveAll(g.file))
	g.must(write(text))
	g.must(os.Chmod(g.file, 0o644))
	token, err = g.ReplaceOperatorToken(g.ctx)
	g.must(err)
	g.check("one that was replaced", token, core.OperatorSubject)
}

// remade is a path at which there is nothing any more.
func remade(path string) string {
	if err := os.Remove(path); err != nil {
		panic(err)
	}
	return path
}

func TestOperatorTokenNeedsAPlace(t *testing.T) {
	g := newGate(t)
	none := access.New(access.Options{})
	if _, err := none.EnsureOperatorToken(g.ctx); sdk.ReasonOf(err) != "operator_token_missing" {
		t.Errorf("without a file: %v", err)
	}
	g.must(os.Remove(filepath.Dir(g.file)))
	if _, err := g.EnsureOperatorToken(g.ctx); sdk.ReasonOf(err) != "operator_token_io" {
		t.Errorf("without its folder: %v", err)
	}
	if got := g.events(); len(got) > 0 {
		t.Errorf("the journal has %q", got)
	}
}
