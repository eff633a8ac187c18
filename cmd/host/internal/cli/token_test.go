package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/jsontext"
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

// TestToken_OfModels shows which models it has, and how much it may use.
func TestToken_OfModels(t *testing.T) {
	w := newPlainWorld(t)
	made := w.parsed(exitPassed, "token new agent --scope model --model coder --model contact --budget usd=0.5/day --budget tokens=20000/day --namespace team --json")
	if got := jsontext.MustEncode(made["budget"]); string(got) != `{"cost_usd":0.5,"per":"day","tokens":20000}` {
		t.Errorf("its budget is %s", got)
	}
	out, _ := w.line(exitPassed, "", "token list --json")
	wantIn(t, out, `"coder"`, `"contact"`, `"per": "day"`)
	if got := tokenRow(operation.Token{Token: access.Token{Scopes: []core.Scope{core.ScopeRun, core.ScopeModel}, ModelGrant: core.ModelGrant{Models: []string{"coder"}, Budget: &core.Budget{CostUSD: 5, Per: core.PerDay}}}})[5]; got != "run model (coder, usd=5/day)" {
		t.Errorf("the list has %q", got)
	}
	for _, wrong := range []string{
		"usd=5", "usd/day", "5/day", "usd=5/month", "usd=0/day", "usd=-1/day", "usd=nan/day", "usd=inf/day", "tokens=1.5/day", "tokens=0/day", "eur=5/day",
		"usd=5/day/day", "usd=5/day --budget usd=6/day", "usd=5/day --budget tokens=10/request", "usd=5 /day", "tokens=99999999999999999999/day",
	} {
		_, errs := w.line(exitUsage, "", "token new agent --scope model --namespace team --budget "+wrong)
		wantIn(t, errs, "--budget")
	}
	_, errs := w.line(exitUsage, "", "token new --operator --model coder")
	wantIn(t, errs, "--model can't be given with --operator")
	_, errs = w.line(exitUsage, "", "token new agent --scope run --model coder --namespace team")
	wantIn(t, errs, "model")
}
