package surfaces

import (
	"testing"

	"github.com/reflectory/reflectory/testdata/surfaces/turns"
)

// built starts servers of the built program.
type built struct{}

func (built) Serve(t *testing.T, data string) *turns.Server {
	t.Helper()
	s := start(t, data, "")
	c := s.operator()
	return &turns.Server{URL: c.base, Token: c.token, Stop: s.stop}
}

func (built) Command(t *testing.T, data string, args ...string) (string, error) {
	t.Helper()
	return command(t, data, args...)
}

// TestTurns_Matrix has prompts built and sessions held by many callers at once.
func TestTurns_Matrix(t *testing.T) {
	turns.Matrix(t, built{}, turns.Scale{Clients: 8, Turns: 40})
}
