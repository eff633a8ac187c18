// Package turns tests what is expected of the prompts and sessions of a server that many
// callers use at once: nine expectations, which are tested over HTTP against a built
// program. It knows the program only by what its users see. The tests of two packages run
// it, one in a small version and one in full.
package turns

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Server is a built program that serves a data folder.
type Server struct {
	// URL is where it listens, and Token is the operator's.
	URL, Token string
	// Stop asks it to end.
	Stop func()
}

// Starter starts servers of a program.
type Starter interface {
	// Serve serves a data folder until the test ends, or Stop is called.
	Serve(t *testing.T, data string) *Server
	// Command runs a command on a data folder, and returns what it printed.
	Command(t *testing.T, data string, args ...string) (string, error)
}

// Scale describes how much is done at once.
type Scale struct {
	// Clients is how many callers each row has at the same time, at least 2; Turns is how many
	// turns a session has, at least 12, which fill the window of one.
	Clients, Turns int
}

// row is an expectation that holds whatever else happens at the same time.
type row struct {
	name string
	run  func(*testing.T, *matrix)
}

// rows are all of them. They run at the same time, on one server.
var rows = []row{
	{"sessions of groups are isolated", isolation},
	{"a session is reset and resumed under traffic", windows},
	{"a long session is compressed into a budget", budget},
	{"roles change with what goes on", roles},
	{"modes have the same blocks", modes},
	{"a wrong hint is corrected", hints},
	{"snapshots are replayed", replays},
	{"a recalled memory imitates a safety block", imitation},
	{"a memory is purged between show and replay", purges},
}

// matrix is a server with the rows' callers.
type matrix struct {
	Scale
	start  Starter
	server *Server
}

// Matrix runs every row against a server at once, and then has the store checked.
func Matrix(t *testing.T, start Starter, scale Scale) {
	data := folder(t)
	m := &matrix{scale, start, start.Serve(t, data)}
	t.Run("rows", func(t *testing.T) {
		for _, r := range rows {
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				r.run(t, m)
			})
		}
	})
	m.server.Stop()
	for _, check := range [][]string{{"store", "check"}, {"audit", "verify"}} {
		if out, err := start.Command(t, data, check...); err != nil {
			t.Errorf("%v: %v\n%s", check, err, out)
		}
	}
}

// injection is the policy of the servers: which roles a turn has depends on what failed in
// the turn before.
const injection = `name: injection
rule:
  id: roles
  match:
    - condition: failure_class == "tool_error"
      output: '{"mode": "hybrid", "route": "react", "max_blocks": 12, "max_chars": 8000, "role_mix": "debug_reflection"}'
    - condition: failure_class != ""
      output: '{"mode": "hybrid", "route": "react", "max_blocks": 12, "max_chars": 8000}'
    - condition: complexity >= 0.75
      output: '{"mode": "hybrid", "route": "graph", "max_blocks": 12, "max_chars": 8000, "role_mix": "architecture_reflection"}'
    - output: '{"mode": "classified", "route": "react", "max_blocks": 12, "max_chars": 8000}'
`

// folder is a new data folder with the policy.
func folder(t *testing.T) string {
	t.Helper()
	data := t.TempDir()
	policies := filepath.Join(data, "policies", "injection")
	err := os.MkdirAll(policies, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(policies, "roles.yaml"), []byte(injection), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// each runs something for so many callers at the same time, and waits for all of them.
func each(t *testing.T, callers int, run func(t *testing.T, n int)) {
	t.Helper()
	t.Run("callers", func(t *testing.T) {
		for n := range callers {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				run(t, n)
			})
		}
	})
}
