package access_test

import (
	"os"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
)

// TestOperatorTokenThatIsRememberedHoldsNoLonger than its file stays unchanged.
func TestOperatorTokenThatIsRememberedHoldsNoLonger(t *testing.T) {
	for name, tamper := range map[string]func(*testing.T, string){
		"removed":     func(t *testing.T, path string) { change(t, os.Remove(path)) },
		"for others":  func(t *testing.T, path string) { change(t, os.Chmod(path, 0o644)) },
		"overwritten": func(t *testing.T, path string) { change(t, os.WriteFile(path, []byte("x"), 0o600)) },
		"of the same size": func(t *testing.T, path string) {
			text, err := os.ReadFile(path)
			change(t, err)
			text[len(text)-2] ^= 1 // another digit
			change(t, os.WriteFile(path, text, 0o600))
		},
		"behind a link": func(t *testing.T, path string) {
			change(t, os.Rename(path, path+".real"))
			change(t, os.Symlink(path+".real", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t)
			_, err := g.EnsureOperatorToken(g.ctx)
			g.must(err)
			token, err := g.OperatorToken()
			g.must(err)
			g.check("not settled", token, core.OperatorSubject)
			if access.Remembers(g.Authority) {
				t.Error("it is remembered right after it was written")
			}
			access.SetFileTime(g.Authority, time.Now().Add(time.Hour))
			g.check("read", token, core.OperatorSubject)
			if !access.Remembers(g.Authority) {
				t.Error("it isn't remembered")
			}
			g.check("remembered", token, core.OperatorSubject)
			tick(t, g.file)
			tamper(t, g.file)
			g.check(name, token, "")
		})
	}
}

// tick waits until the clock that files are stamped by has moved on since a file was
// written, as it has for every file that is remembered.
func tick(t *testing.T, path string) {
	t.Helper()
	written, err := os.Stat(path)
	change(t, err)
	for probe := path + ".probe"; ; {
		change(t, os.WriteFile(probe, nil, 0o600))
		now, err := os.Stat(probe)
		change(t, err)
		change(t, os.Remove(probe))
		if now.ModTime().After(written.ModTime()) {
			return
		}
	}
}

func change(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
