package cli

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/sdk"
)

func pluginInspectCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "inspect NAME|PATH", Short: "Show everything that is known about a plugin",
		Long: `Show everything that is known about an installed plugin, or one in a folder that isn't
installed: what it is and asks for, its limits, and what the lock pins. For a
process, the protection that its sandbox would give on this system; for a module, how it is called,
and whether fuel counts what it executes. The plugin isn't run.

With --json:
  name version kinds runtime description from lock folder granted   as plugin list has them
  problem   why it can't run: {code, message, hint?, try?, details?}
  package   its plugin.yaml; limits: memory_bytes timeout output_bytes instances
            parallel, and fuel or processes
  files     the SHA-256 of each file that the lock pins
  signer    the key that signed it; untrusted_signer if the trust file doesn't name the key
  sandbox   of a process: mode, refuses (mode require, and something is missing),
            holds (nothing essential is missing), user, no_new_privs, landlock (its
            version, 0 for none), seccomp, rlimits, pid_namespace, network_namespace, cgroup
            (v1 or v2), tasks (what bounds processes and threads, "" where they are only counted),
            missing and notes (texts), reads (paths), reaches (host:port)
  module    of a module: file, kind (reactor, extism, command), abi, exports, imports,
            metered or unmetered (why not), restorable or unrestorable (why not),
            network and services (whether it imports these), instance_bytes (what it
            holds next to its memory), shared, globals, pure or impure
            (why not); or only problem: why it can't be called`,
		Example: `  reflectory plugin inspect reflectory/schema-eval
  reflectory plugin inspect words --json`,
		RunE: func(c *cobra.Command, args []string) error {
			i, err := inspectPlugin(c.Context(), a, args[0])
			if err != nil {
				return err
			}
			if a.out.json {
				return a.out.printJSON(i)
			}
			return printInspection(a.out, i)
		},
	}
}

// inspectPlugin inspects the installed plugin with a name, or the plugin in a folder of
// this machine.
func inspectPlugin(ctx context.Context, a *App, name string) (*host.Inspection, error) {
	i, err := do[host.Inspection](ctx, a, "plugin_get", &operation.PluginGet{Name: name})
	if sdk.ReasonOf(err) != "plugin_not_found" {
		return i, err
	}
	if info, statErr := os.Stat(name); statErr != nil || !info.IsDir() {
		return nil, err
	}
	pkg, err := install.ReadPackage(name)
	if err != nil {
		return nil, err
	}
	p := &install.Plugin{Name: pkg.Name, Version: pkg.Version, Folder: name, Package: pkg, Place: install.Place{Label: "not installed"}}
	return host.Inspect(ctx, a.config, a.Getenv, p), nil
}

// signedBy is the key that signed a package.
func signedBy(s install.Signed) string {
	if s.UntrustedSigner != "" {
		return s.UntrustedSigner + " (not trusted: the trust file names no key of its publisher)"
	}
	return s.Signer
}

// printInspection shows an inspection to people.
func printInspection(out *output, i *host.Inspection) error {
	rows := [][2]string{
		{"version", i.Version}, {"description", i.Description}, {"kinds", joinKinds(i.Kinds)}, {"runtime", i.Runtime},
		{"from", i.From}, {"lock", i.Lock}, {"folder", i.Folder}, {"signed by", signedBy(i.Signed)},
	}
	if pkg := i.Package; pkg != nil {
		for _, platform := range slices.Sorted(maps.Keys(pkg.Entries)) {
			rows = append(rows, [2]string{strings.TrimSpace("entry " + platform), strings.Join(pkg.Entries[platform], " ")})
		}
		rows = append(rows, [2]string{"asks for", orNothing(pkg.Capabilities.List())}, [2]string{"limits", limitsLine(i.Limits)})
	}
	if len(i.Files) > 0 {
		rows = append(rows, [2]string{"granted", orNothing(i.Granted)})
	}
	if i.Problem != nil {
		rows = append(rows, [2]string{"problem", i.Problem.Message}, [2]string{"hint", out.hint(i.Problem)})
	}
	out.printSection(i.Name, rows)
	if i.Sandbox != nil {
		out.printSection("its sandbox here", confinementRows(i.Sandbox))
	}
	if i.Module != nil {
		out.printSection("its module", moduleRows(out, i.Module))
	}
	if len(i.Files) > 0 {
		fmt.Fprintln(out.Stdout, "its files, by SHA-256")
	}
	for _, name := range slices.Sorted(maps.Keys(i.Files)) {
		fmt.Fprintf(out.Stdout, "  %s  %s\n", i.Files[name], filepath.FromSlash(name))
	}
	return nil
}
