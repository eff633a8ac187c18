package httpapi

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
)

// credential is a token, or a grant, that a document tells its reader to make.
type credential struct {
	where, subject     string
	scopes, namespaces []string
}

var (
	continued = regexp.MustCompile(`\\\n[ \t]*#?[ \t]*`)
	newToken  = regexp.MustCompile(`token new ([\w-]+)((?: +--[\w-]+ [^\s` + "`" + `]+)+)`)
	tokenFlag = regexp.MustCompile(`--(scope|namespace) '?([^\s']+)`)
	newGrant  = regexp.MustCompile(`--oidc-grant '([^']+)'`)
)

// documented are the credentials of all documents and of the files that deploy hosts.
func documented(t *testing.T) (list []credential) {
	t.Helper()
	root := filepath.Join("..", "..", "..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && path != root):
			return filepath.SkipDir
		case d.IsDir() || name == "CHANGELOG.md" || !slices.Contains([]string{".md", ".yml", ".yaml", ".service"}, filepath.Ext(name)):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		joined := continued.ReplaceAllString(string(text), " ")
		for _, m := range newToken.FindAllStringSubmatch(joined, -1) {
			c := credential{where: name, subject: m[1]}
			for _, f := range tokenFlag.FindAllStringSubmatch(m[2], -1) {
				if f[1] == "scope" {
					c.scopes = append(c.scopes, f[2])
				} else {
					c.namespaces = append(c.namespaces, f[2])
				}
			}
			list = append(list, c)
		}
		for _, m := range newGrant.FindAllStringSubmatch(joined, -1) {
			g, err := access.ParseGrant(m[1])
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			c := credential{where: name, subject: "grant " + g.Claim + "=" + g.Value, namespaces: g.Namespaces}
			for _, s := range g.Scopes {
				c.scopes = append(c.scopes, string(s))
			}
			list = append(list, c)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// purposes are what each document says that its credential is for: the operations, and
// whether it scrapes the metrics.
func purposes() map[string][]string {
	turn := []string{"memory_recall", "memory_observe", "memory_get", "memory_list"}
	work := []string{"run_start", "run_list", "evaluate", "correct", "memory_recall", "memory_observe"}
	return map[string][]string{
		"README.md ci":                          {"memory_list", "memory_get", "memory_recall"},
		"README.md grant groups=staff":          {"memory_list", "memory_get", "memory_recall"},
		"docs/operations.md ci":                 {"run_start", "run_get", "memory_list"},
		"docs/operations.md proxied":            {"memory_list"},
		"docs/operations.md prometheus":         {"/metrics"},
		"docs/operations.md grant groups=staff": {"memory_list", "memory_get", "memory_recall"},
		"docs/agents.md my-editor":              turn,
		"docs/agents.md my-agent":               turn,
		"docs/gateway.md agent":                 {}, // the gateway alone, which isn't an operation's path
		"docs/your-agent.md agent":              {},
		"deploy/compose.yml team":               work,
		"deploy/kubernetes.yml team":            work,
	}
}

// TestDocuments_EachCredentialDoesWhatItIsFor and nothing else: the golden file lists all
// that each is let in to.
func TestDocuments_EachCredentialDoesWhatItIsFor(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	from, purposes := newIssuer(t), purposes()
	var out strings.Builder
	last := ""
	for _, c := range documented(t) {
		name := c.where + " " + c.subject
		if name == last {
			continue // a document shows it twice
		}
		last = name
		purpose, known := purposes[name]
		if !known {
			t.Errorf("%s makes a credential of %s for %s in %s: say in this test what it is for", name, c.subject, c.scopes, c.namespaces)
			continue
		}
		delete(purposes, name)
		d := newDoor(t, from)
		d.api.metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "up 1\n") })
		q := access.Request{Subject: "documented", Namespaces: c.namespaces}
		for _, s := range c.scopes {
			q.Scopes = append(q.Scopes, core.Scope(s))
		}
		issued, err := d.Host.Access.Issue(d.Ctx, q)
		d.Must(err)
		d.tokens["documented"] = string(issued.Secret)
		allowed := d.letIn(t, string(issued.Secret))
		for _, p := range purpose {
			if !slices.Contains(allowed, p) {
				t.Errorf("%s isn't let in to %s, which it is for", name, p)
			}
			if o, err := operation.Find(p); err == nil {
				if outcome, done := d.knock(t, &o, "documented"); !done && outcome != "404 plugin_not_found" { // which the world lacks
					t.Errorf("%s can't do %s: %s", name, p, outcome)
				}
			}
		}
		fmt.Fprintf(&out, "%s (%s in %s)\n  %s\n", name, strings.Join(c.scopes, " "), strings.Join(c.namespaces, " "), strings.Join(allowed, " "))
	}
	for name := range purposes {
		t.Errorf("no document makes the credential %s", name)
	}
	coretest.Golden(t, "documented_credentials.golden", out.String())
}

// letIn are the operations that a token's caller is let in to, and /metrics.
func (d *door) letIn(t *testing.T, token string) (allowed []string) {
	t.Helper()
	caller, err := d.Host.Access.Authenticate(d.Ctx, token)
	d.Must(err)
	ctx := core.WithCaller(t.Context(), caller)
	for _, o := range operationtest.Table(t) {
		if err := o.Allow(ctx, operation.Call{Host: d.Host}, d.ValidRequest(o.Name)); err != nil {
			continue
		}
		if !o.May(caller) {
			t.Errorf("%s is let in without its scope", o.Name)
		}
		allowed = append(allowed, o.Name)
	}
	if a := d.send(token, "GET", "/metrics", ""); a.StatusCode == http.StatusOK {
		allowed = append(allowed, "/metrics")
	}
	return allowed
}
