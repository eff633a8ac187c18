package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestToken_ARevokedOneIsListedAsThat takes its id from the command that made it, in a
// store that the next command opens again.
func TestToken_ARevokedOneIsListedAsThat(t *testing.T) {
	w := newPlainWorld(t)
	made := w.parsed(exitPassed, "token new ci --scope run --namespace team/** --json")
	id, secret := made["id"].(string), made["token"].(string)
	if !strings.HasPrefix(secret, "rfl_"+id+"_") {
		t.Errorf("the token of %s is %q", id, secret)
	}
	out, _ := w.line(exitPassed, "", "__complete token revoke "+id[:3])
	wantIn(t, out, id+"\tci")
	out, _ = w.line(exitPassed, "", "token revoke "+id[:12])
	wantIn(t, out, id+" of ci is revoked")
	out, _ = w.line(exitPassed, "", "token list")
	wantIn(t, out, "revoked")
	out, _ = w.line(exitPassed, "", "__complete token revoke "+id[:3])
	if strings.Contains(out, id) {
		t.Errorf("it is offered still: %s", out)
	}
	_, errs := w.line(exitFailure, "", "token revoke "+secret) // pasted in the wrong place
	if strings.Contains(errs, secret[25:41]) {
		t.Errorf("the secret is echoed: %s", errs)
	}
}

// TestToken_NoCommandTakesASecret looks at every flag and argument: a list of processes shows
// them to everybody. A page's token and a revoked token's id are none.
func TestToken_NoCommandTakesASecret(t *testing.T) {
	known := []string{"page-token", "reflectory token revoke TOKEN"}
	secretive := func(name string) bool {
		name = strings.ToLower(name)
		for _, word := range []string{"token", "secret", "password", "credential"} {
			if strings.Contains(name, word) {
				return true
			}
		}
		return false
	}
	flags := 0
	walkCommands((&App{}).root(), func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if flags++; secretive(f.Name) && !slices.Contains(known, f.Name) {
				t.Errorf("%s --%s", c.CommandPath(), f.Name)
			}
		})
		for _, word := range operands(c) {
			if secretive(word) && !slices.Contains(known, c.CommandPath()+" "+word) {
				t.Errorf("%s %s", c.CommandPath(), word)
			}
		}
	})
	if flags < 100 {
		t.Errorf("%d flags were looked at", flags)
	}
}
