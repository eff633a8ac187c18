package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/host/gateway"
	"github.com/reflectory/reflectory/sdk"
)

// given are the settings on the command line, by their flags' names.
func (f *flags) given() map[string]string {
	return map[string]string{
		"data-dir": f.dataDir, "plugin-dir": f.pluginDir, "lock": f.lock, "policy-dir": f.policyDir,
		"sandbox": f.sandbox, "log-level": f.logLevel, "agent": f.agent, "lock-wait": f.lockWait, "durability": f.durability, "server": f.server,
		"store": f.store, "stores": f.stores, "store-wait": f.storeWait,
		"oidc-issuer": f.oidcIssuer, "oidc-audience": f.oidcAudience, "oidc-client": f.oidcClient, "oidc-grant": strings.Join(f.oidcGrants, ","),
		"listen": f.listen, "runs": f.runs, "tls-cert": f.tlsCert, "tls-key": f.tlsKey, "acme": f.acme, "acme-directory": f.acmeDirectory,
		"tls-by-proxy": strings.Join(f.proxies, ","), "host": strings.Join(f.hosts, ","),
	}
}

// loadConfig reads the settings of this command line. A wrong flag or variable is a usage
// error, but a wrong file isn't.
func (a *App) loadConfig() error {
	c, err := config.Load(config.Sources{Flags: a.flags.given(), Getenv: a.Getenv, Folder: a.folder})
	if config.OutsideFile(err) {
		return usageError{err}
	}
	if err == nil {
		a.config = c
	}
	return err
}

func configCommand(a *App) *cobra.Command {
	return noun("config", "Show the settings, and their schema", "",
		configShowCommand(a), configSchemaCommand(a.out),
	)
}

func configShowCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "show", Short: "Print each setting, its value and where it comes from",
		Long: `Print each setting, its value, where it comes from and the environment variable that
sets it. A flag overrides the environment, which overrides the nearest reflectory.yaml
in this folder or above, which overrides the default.`,
		Example: "  reflectory config show",
		RunE: func(*cobra.Command, []string) error {
			if a.out.json {
				return a.out.printJSON(a.config)
			}
			var rows [][]string
			for _, s := range a.config.List() {
				rows = append(rows, []string{s.Name, s.Value, s.Origin, s.Variable})
			}
			return a.out.table([]string{"SETTING", "VALUE", "ORIGIN", "VARIABLE"}, rows)
		},
	}
}

// schemaNames are the files whose schemas are printed.
var schemaNames = []string{"reflectory", "gateway"}

func configSchemaCommand(out *output) *cobra.Command {
	return &cobra.Command{
		Use: "schema [OF]", Short: "Print the JSON Schema of reflectory.yaml, for editors",
		Long: `Print the JSON Schema of reflectory.yaml or, with the argument gateway, of
gateway.yaml, for editors. Save it, and begin the file with:
# yaml-language-server: $schema=reflectory.schema.json`,
		Example: "  reflectory config schema > reflectory.schema.json\n  reflectory config schema gateway",
		Args:    cobra.MaximumNArgs(1),
		// It is printed even if the settings are wrong: it helps to fix them.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(_ *cobra.Command, args []string) error {
			switch strings.Join(args, "") {
			case "", schemaNames[0]:
				return out.printJSON(config.Schema())
			case schemaNames[1]:
				return out.printJSON(gateway.Schema())
			}
			return usageError{sdk.Errorf(sdk.Invalid, "usage", "%q is not one of %s", core.Cut(args[0]), strings.Join(schemaNames, ", "))}
		},
	}
}
