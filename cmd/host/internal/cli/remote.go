package cli

import (
	"crypto/x509"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/core/plainfile"
	"github.com/reflectory/reflectory/sdk"
)

// With --server a command uses a server on another machine, as the subject of the token.
// Commands that work on this machine's own state are then refused, since a user who names
// another machine doesn't mean this machine.

// tokenVariable has the token for a server on another machine.
const tokenVariable = "REFLECTORY_TOKEN"

// remote reports whether commands use a server on another machine. A server itself doesn't.
func (a *App) remote() bool { return a.config.Server.Value != "" && a.serving == nil }

// local are the commands that work on this machine's state alone.
var local = []string{"plugin add", "plugin remove", "plugin prune", "plugin verify", "serve", "doctor llm", "store restore", "tenant list", "tenant move"}

// checkRemote refuses a command that a server on another machine can't do.
func (a *App) checkRemote(c *cobra.Command) error {
	name := strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ")
	if !a.remote() || !slices.Contains(local, name) {
		return nil
	}
	if name == "serve" && !strings.HasPrefix(a.config.Server.Origin, "flag ") {
		return nil // the variable is for the other commands of this user
	}
	a.understood = true
	return a.localOnly(name)
}

func (a *App) localOnly(what string) error {
	return sdk.Errorf(sdk.Unavailable, "local_only", "%s works on this machine's own state, and the server %s is asked (%s)", what, a.config.Server.Value, a.config.Server.Origin).
		WithHint("do it on the server's machine, or leave the server out to work here")
}

// connect makes the client of the server on another machine.
func (a *App) connect() (client.Client, error) {
	o := client.Options{URL: a.config.Server.Value, Token: strings.TrimSpace(a.Getenv(tokenVariable)), TokenVariable: tokenVariable, Proxy: a.config.Network().Proxy}
	if path := a.config.ServerCA.Value; path != "" {
		text, err := plainfile.Read(path, 1<<20)
		if err != nil {
			return nil, sdk.Wrap("read the certificates that sign for the server", err)
		}
		if o.Roots = x509.NewCertPool(); !o.Roots.AppendCertsFromPEM(text) {
			return nil, sdk.Errorf(sdk.Invalid, "server_ca_invalid", "%s has no certificate in PEM", path).
				WithHint("name the file of the certificates that sign for the server")
		}
	}
	a.server = client.NewDistant(o)
	a.warnOfUnused("the server has its own settings", "server", "namespace", "log-level")
	return a.server, nil
}
