package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/sdk"
)

// A token is the only text on standard output, so that a script can store it in a
// variable. No command takes a token as an argument or a flag, because a list of
// processes would show it.

func tokenCommand(a *App) *cobra.Command {
	return noun("token", "Make, list and revoke the tokens of clients", `Make, list and revoke the tokens of clients. A token lets a client of the server use the
operations of the token's scopes, in the token's namespaces. It is shown only once: the
store keeps just its SHA-256.`,
		tokenNewCommand(a), tokenListCommand(a), tokenRevokeCommand(a),
	)
}

func tokenNewCommand(a *App) *cobra.Command {
	in := &operation.TokenNew{}
	made := verb[operation.NewToken]{
		Operation: "token_new", In: in, Args: []*string{&in.Subject},
		Print: func(out *output, t *operation.NewToken) error {
			out.term.Line("token %s of %s is valid until %s; it isn't shown again", t.ID, term.Clean(t.Subject), term.Time(t.ExpiresAt))
			return out.say("%s", string(t.Secret))
		},
	}
	var operator bool
	c := &cobra.Command{
		Use: "new [SUBJECT]", Short: "Make a token, and print it once",
		Long: `Make a token for a subject, the client that uses it, and print it once. The scopes are
` + strings.Join(scopeNames(), ", ") + `.
A namespace pattern is a/b for just that one, a/** for a and everything below it, or '**'
for all.
With the scope model, a token asks models through the gateway, and does nothing else:
--model and --budget say which, and for how much. A day begins at midnight UTC.
With --operator, replace the local operator's own token, which is in the file
` + access.OperatorFileName + ` of the data folder and doesn't expire.`,
		Example: "  reflectory token new ci --scope run --scope memory:read --namespace team/mail/** --expires-in 30d\n" +
			"  reflectory token new coder --scope model --model gpt-5-mini --budget usd=5/day --namespace team/coder\n" +
			"  reflectory token new --operator",
		RunE: func(c *cobra.Command, args []string) error {
			if operator {
				return a.replaceOperator(c, args)
			}
			if len(args) == 0 {
				return usageError{sdk.Errorf(sdk.Invalid, "usage", "%s needs SUBJECT, the client that uses the token, or --operator", c.CommandPath())}
			}
			return made.run(a, c, args)
		},
	}
	f := c.Flags()
	repeated(c, &in.Scopes, "scope", "a `scope` of the token; may be repeated")
	f.StringArrayVar(&in.Namespaces, "namespace", nil, "a `pattern` of the token's namespaces; may be repeated")
	f.StringVar(&in.DefaultNamespace, "default-namespace", "", "the `namespace` of requests that name none (default: the first pattern's root)")
	f.StringArrayVar(&in.Models, "model", nil, "a `model` that it may ask with the scope model (default: all); may be repeated")
	f.Var(&parsed{kind: "stringArray", parse: func(text string) error { return addBudget(&in.Budget, text) }}, "budget",
		"how `much` it may ask of models, such as usd=5/day, tokens=200000/day or usd=0.5/request; once for usd, once for tokens")
	f.StringVar(&in.Label, "label", "", "a note on what it is for")
	f.Var(&parsed{kind: "string", parse: func(text string) (err error) {
		in.ExpiresIn, err = parseLifetime(text)
		return err
	}}, "expires-in", fmt.Sprintf("`time` until it expires, such as 30d or 12h, up to %dd (default %dd)", days(access.MaxLifetime), days(access.DefaultLifetime)))
	f.BoolVar(&operator, "operator", false, "replace the local operator's token")
	return c
}

func days(d time.Duration) int { return int(d.Hours() / 24) }

// replaceOperator makes a new operator's token.
func (a *App) replaceOperator(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{sdk.Errorf(sdk.Invalid, "usage", "--operator takes no subject: the subject is the operator")}
	}
	if err := refuseFlags(c, "operator", "scope", "namespace", "default-namespace", "model", "budget", "label", "expires-in"); err != nil {
		return err
	}
	return verb[operation.OperatorToken]{
		Operation: "token_operator", In: &operation.TokenOperator{},
		Print: func(out *output, t *operation.OperatorToken) error {
			out.term.Line("this is the operator's new token: the previous one and its logins are no longer valid")
			return out.say("%s", string(t.Secret))
		},
	}.run(a, c, nil)
}

// refuseFlags refuses flags that can't be combined with another one.
func refuseFlags(c *cobra.Command, with string, flags ...string) error {
	for _, flag := range flags {
		if c.Flags().Changed(flag) {
			return usageError{sdk.Errorf(sdk.Invalid, "usage", "--%s can't be given with --%s", flag, with)}
		}
	}
	return nil
}

// parseLifetime reads a duration such as 30d or 12h, in seconds; "" is 0.
func parseLifetime(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	if number, is := strings.CutSuffix(text, "d"); is {
		if n, err := strconv.ParseUint(number, 10, 16); err == nil {
			return int64(n) * int64(24*time.Hour/time.Second), nil
		}
	} else if d, err := time.ParseDuration(text); err == nil {
		return int64(d / time.Second), nil
	}
	return 0, sdk.Errorf(sdk.Invalid, "usage", "--expires-in %q isn't a duration", core.Cut(text)).
		WithHint("write it with a unit, such as 30d or 12h")
}

// addBudget reads a part of a budget, such as usd=5/day.
func addBudget(into **core.Budget, text string) error {
	wrong := sdk.Errorf(sdk.Invalid, "usage", "--budget %q isn't a budget", core.Cut(text)).
		WithHint("write usd=5/day, tokens=200000/day, or either with /request")
	amount, span, _ := strings.Cut(text, "/")
	unit, number, _ := strings.Cut(amount, "=")
	b := core.Budget{Per: core.BudgetSpan(span)}
	if *into != nil {
		b = **into
	}
	var err error
	switch {
	case !slices.Contains(core.BudgetSpans(), core.BudgetSpan(span)):
		return wrong
	case string(b.Per) != span:
		return sdk.Errorf(sdk.Invalid, "usage", "--budget: %s and %s are of two spans", b.String(), core.Cut(text)).WithHint("give both per day, or both per request")
	case unit == "usd" && b.CostUSD == 0:
		b.CostUSD, err = strconv.ParseFloat(number, 64)
	case unit == "tokens" && b.Tokens == 0:
		b.Tokens, err = strconv.ParseInt(number, 10, 64)
	default:
		return wrong
	}
	if err != nil || b.Check() != nil || unit == "usd" && b.CostUSD == 0 || unit == "tokens" && b.Tokens == 0 {
		return wrong
	}
	*into = &b
	return nil
}

func tokenListCommand(a *App) *cobra.Command {
	in := &operation.TokenList{}
	c := verb[operation.Page[operation.Token]]{
		Use: "list", Short: "List the tokens, without their secrets",
		Long: fmt.Sprintf(`List the tokens in the order in which they were made, without their secrets. Tokens that
expired or were revoked are listed for %d days.`, days(access.KeepEnded)),
		Example:   "  reflectory token list",
		Operation: "token_list", In: in, Paging: &in.Paging,
		Print: table("there are no tokens", []string{"TOKEN", "SUBJECT", "STATE", "EXPIRES", "LAST USED", "SCOPES", "NAMESPACES", "LABEL"}, tokenRow),
	}.command(a)
	sinceFlag(c, &in.Since, "tokens")
	return c
}

func tokenRow(t operation.Token) []string {
	scopes, used := make([]string, len(t.Scopes)), "never"
	for i, s := range t.Scopes {
		if scopes[i] = string(s); s == core.ScopeModel {
			scopes[i] += grantText(t.ModelGrant)
		}
	}
	if !t.LastUsedAt.IsZero() {
		used = term.Time(t.LastUsedAt)
	}
	return []string{
		t.ID, cell(t.Subject), string(t.State), term.Time(t.ExpiresAt), used, strings.Join(scopes, " "), cell(strings.Join(t.Namespaces, " ")), cell(t.Label),
	}
}

// grantText is what a token may ask of models, behind the scope.
func grantText(g core.ModelGrant) string {
	parts := slices.Clone(g.Models)
	if g.Budget != nil {
		parts = append(parts, g.Budget.String())
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + cell(strings.Join(parts, ", ")) + ")"
}

func tokenRevokeCommand(a *App) *cobra.Command {
	in := &operation.TokenRevoke{}
	return verb[operation.Token]{
		Use: "revoke TOKEN", Short: "Revoke a token, and end the logins made with it",
		Long: `Revoke a token, named by its id or the start of its id, and end the logins made with it.
Requests with it are refused from now on.`,
		Example:   "  reflectory token revoke 65f0a1b2",
		Operation: "token_revoke", In: in, Args: []*string{&in.ID},
		Print: func(out *output, t *operation.Token) error {
			return out.say("%s of %s is revoked", t.ID, cell(t.Subject))
		},
	}.command(a)
}

// scopeNames are the names of all scopes.
func scopeNames() []string {
	var all []string
	for _, s := range core.Scopes() {
		all = append(all, string(s))
	}
	return all
}

// What shell completion offers for the arguments of the commands about tokens.
var (
	tokenIDs = offer{values: fromStore(offerTokens)}
	scopes   = offer{values: func(context.Context, *App) []string { return scopeNames() }}
)

// offerTokens are the tokens that can be revoked.
func offerTokens(ctx context.Context, a *App) []string {
	values := paged(func(t operation.Token) string {
		if t.State != access.Active {
			return ""
		}
		return described(t.ID, t.Subject)
	}, func(p operation.Paging) ([]operation.Token, string, error) {
		return pageItems(do[operation.Page[operation.Token]](ctx, a, "token_list", &operation.TokenList{Paging: p}))
	})
	return slices.DeleteFunc(values, func(v string) bool { return v == "" })
}
