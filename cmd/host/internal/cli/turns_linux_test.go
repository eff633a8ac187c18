package cli

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/testdata/surfaces/turns"
)

// starter starts servers of the program, in processes of their own.
type starter struct{}

// on is a world whose data folder is another one.
func (starter) on(t *testing.T, data string) *killWorld {
	t.Helper()
	w := newKillWorld(t)
	w.env = append(w.env, "REFLECTORY_DATA_DIR="+data)
	return w
}

func (s starter) Serve(t *testing.T, data string) *turns.Server {
	t.Helper()
	w := s.on(t, data)
	cmd, at := w.serve()
	token, err := os.ReadFile(at.Token)
	if err != nil {
		t.Fatal(err)
	}
	return &turns.Server{URL: "http://" + at.Listen, Token: string(token), Stop: func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ends with %v:\n%s", err, w.log.String())
		}
	}}
}

func (s starter) Command(t *testing.T, data string, args ...string) (string, error) {
	t.Helper()
	w := s.on(t, data)
	cmd := exec.Command(w.self, args...)
	cmd.Env, cmd.Dir = w.env, w.dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestTurns_Matrix is a small version of what make test-surfaces does with the built
// program.
func TestTurns_Matrix(t *testing.T) {
	coretest.Long(t)
	turns.Matrix(t, starter{}, turns.Scale{Clients: 2, Turns: 12})
}
