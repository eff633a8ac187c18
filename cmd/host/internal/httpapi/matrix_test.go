package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/oauth2-proxy/mockoidc"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/cmd/host/internal/identity"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
)

// door is a site with the host's own tokens, by their holders. Each token of a scope
// reaches every namespace; here and elsewhere have every scope in one.
type door struct {
	*site
	tokens map[string]string
}

// holders are who ask, in the order of the golden file.
func holders() []string {
	list := []string{"none", "malformed", "expired", "revoked", "wrong audience", "wrong issuer", "expired identity"}
	for _, scope := range core.Scopes() {
		list = append(list, string(scope))
	}
	return append(list, "here", "elsewhere", "staff", "anybody", "operator")
}

// issuer is an issuer whose tokens every door accepts: its staff has every scope
// here.
type issuer struct {
	identities *identity.Verifier
	tokens     map[string]string
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	mock, err := mockoidc.Run()
	if err != nil {
		t.Fatal(err)
	}
	const audience = "https://host.example.org"
	grant := access.Grant{Claim: "groups", Value: "staff", Scopes: core.Scopes(), Namespaces: []string{operationtest.Here + "/**"}}
	i := &issuer{tokens: map[string]string{}, identities: identity.New(identity.Options{
		Issuer: mock.Issuer(), Audience: audience, Mapping: access.Mapping{Grants: []access.Grant{grant}},
	})}
	t.Cleanup(func() {
		_ = i.identities.Close()
		_ = mock.Shutdown()
	})
	for who, change := range map[string]jwt.MapClaims{
		"staff": {}, "wrong audience": {"aud": "https://other.example.org"}, "wrong issuer": {"iss": "https://other.example.org"},
		"expired identity": {"exp": time.Now().Add(-time.Minute).Unix()},
	} {
		claims := jwt.MapClaims{"iss": mock.Issuer(), "aud": audience, "sub": "amy", "groups": []string{"staff"}, "exp": time.Now().Add(time.Hour).Unix()}
		maps.Copy(claims, change)
		if i.tokens[who], err = mock.Keypair.SignJWT(claims); err != nil {
			t.Fatal(err)
		}
	}
	return i
}

func newDoor(t *testing.T, from *issuer) *door {
	t.Helper()
	d := &door{newSite(t), map[string]string{"none": "", "malformed": "rfl_x_y"}}
	maps.Copy(d.tokens, from.tokens)
	d.Must(os.MkdirAll(d.Flags()["data-dir"], 0o700))
	_, err := d.Host.Access.EnsureOperatorToken(d.Ctx)
	d.Must(err)
	operator, err := d.Host.Access.OperatorToken()
	d.Must(err)
	d.tokens["operator"] = string(operator)
	d.issue("expired", time.Minute, "**", core.Scopes()...)
	d.Must(d.revoke(d.issue("revoked", 0, "**", core.Scopes()...)))
	for _, scope := range core.Scopes() {
		d.issue(string(scope), 0, "**", scope)
	}
	d.issue("here", 0, operationtest.Here+"/**", core.Scopes()...)
	d.issue("elsewhere", 0, operationtest.Elsewhere+"/**", core.Scopes()...)
	d.Config.Clock.(*coretest.Clock).Advance(time.Hour)
	d.api, err = New(Config{
		Host: d.Host, Version: "1.2.3", Authenticator: Tokens{Authority: d.Host.Access, Identities: from.identities.Authenticate}, Hosts: []string{"example.com"}, Limits: Limits{Requests: -1, Writes: -1, FailedLogins: -1},
	})
	d.Must(err)
	return d
}

// issue issues a token, and returns its id.
func (d *door) issue(who string, lifetime time.Duration, namespace string, scopes ...core.Scope) string {
	d.T.Helper()
	issued, err := d.Host.Access.Issue(d.Ctx, access.Request{Subject: who, Scopes: scopes, Namespaces: []string{namespace}, Lifetime: lifetime})
	d.Must(err)
	d.tokens[who] = string(issued.Secret)
	return issued.ID
}

func (d *door) revoke(id string) error {
	_, err := d.Host.Access.Revoke(d.Ctx, id)
	return err
}

// knock makes an operation's valid request for somebody, and says how it was answered.
func (d *door) knock(t *testing.T, o *operation.Operation, who string) (outcome string, done bool) {
	t.Helper()
	r, err := client.NewRequest(t.Context(), "http://localhost", o, d.ValidRequest(o.Name), strings.NewReader(""))
	d.Must(err)
	known := d.api.config.Authenticator
	switch who {
	case "none":
	case "anybody": // at a server that needs no credentials
		d.api.config.Authenticator = Anybody{}
	default:
		r.Header.Set("Authorization", "Bearer "+d.tokens[who])
	}
	a := serve(d.api.Remote(), r)
	d.api.config.Authenticator = known
	if a.StatusCode < http.StatusMultipleChoices {
		return fmt.Sprint(a.StatusCode), true
	}
	var p client.Problem
	d.Must(json.Unmarshal([]byte(a.body), &p))
	return fmt.Sprint(a.StatusCode, " ", p.Code), false
}

// TestAccess_Matrix makes every operation's valid request with every kind of credential.
// A caller without the right is refused before the world is changed, so that a door stays as it
// is until somebody was let in.
func TestAccess_Matrix(t *testing.T) {
	coretest.Long(t)
	if coretest.Plain(t) {
		return
	}
	table := operationtest.Table(t)
	lines, from := make([]string, len(table)), newIssuer(t)
	t.Run("operations", func(t *testing.T) {
		for i, o := range table {
			t.Run(o.Name, func(t *testing.T) {
				t.Parallel()
				outcomes := map[string][]string{}
				d := newDoor(t, from)
				for _, who := range holders() {
					outcome, done := d.knock(t, &o, who)
					outcomes[outcome] = append(outcomes[outcome], who)
					if done {
						d = newDoor(t, from)
					}
				}
				lines[i] = matrixLine(&o, outcomes)
			})
		}
	})
	coretest.Golden(t, "access_matrix.golden", strings.Join(slices.DeleteFunc(lines, func(l string) bool { return l == "" }), ""))
}

// matrixLine has an operation's outcomes, each with who gets it.
func matrixLine(o *operation.Operation, outcomes map[string][]string) string {
	list := make([]string, 0, len(outcomes))
	for outcome, who := range outcomes {
		list = append(list, fmt.Sprintf("  %s: %s\n", outcome, strings.Join(who, ", ")))
	}
	slices.Sort(list)
	return fmt.Sprintf("%s (%s %s, %s)\n%s", o.Name, o.Method, o.Path, o.Scope, strings.Join(list, ""))
}
