package cli

import (
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/discover"
)

// TestDiscover_NamesCommands: whatever is asked, each command that an answer names is there, and takes the flags that
// the answer writes.
func TestDiscover_NamesCommands(t *testing.T) {
	w := newWorld(t)
	w.serve()
	tried, commands := 0, map[string]bool{}
	for _, intent := range coretest.Intents(t, "../../../../core/host/operation/testdata/intents.txt") {
		answer := decoded[discover.Answer](w, exitPassed, "discover", intent)
		for _, r := range append(answer.Candidates, answer.Nearest...) {
			if tried++; commands[r.Usage.Call] {
				continue
			}
			commands[r.Usage.Call] = true
			if code, out, errs := w.run(t.Context(), append(splitWords(strings.ReplaceAll(r.Usage.Call, " INT", " 1"))[1:], "--help")...); code != exitPassed {
				t.Errorf("%s: %s: exit %d: %s%s", intent, r.Usage.Call, code, out, errs)
			}
		}
	}
	if t.Logf("%d calls of %d commands", tried, len(commands)); len(commands) < 20 {
		t.Errorf("only %d commands are named", len(commands))
	}
}
