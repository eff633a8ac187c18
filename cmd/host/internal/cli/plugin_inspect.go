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

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/install"
)

func (a *App) pluginInspectCommand() *cobra.Command {
	return &cobra.Command{
		Use: "inspect NAME|PATH", Short: "Show all that is known of a plugin",
		Long: `Show all that is known of an installed plugin, or of one in a folder that isn't
installed: what it is and asks for, what bounds it, and what the lock pins. Of a
process, what its sandbox would hold on this system; of a module, how it is called,
and whether fuel counts what it executes. Nothing of it is run.

With --json:
  name version kinds runtime description from lock folder granted   as plugin list has them
  problem   why it can't run: {code, message, hint?, details?}
  package   its plugin.yaml; limits: memory_bytes timeout output_bytes instances
            parallel, and fuel or processes
  files     the SHA-256 of each file that the lock pins; signer: the key that signed it
  sandbox   of a process: mode, refuses (mode require, and something is missing),
            holds (nothing essential is missing), user, no_new_privs, landlock (its
            version, 0 for none), seccomp, rlimits, pid_namespace, cgroup (v1 or v2),
            tasks (what bounds processes and threads, "" where they are only counted),
            missing and notes (texts), reads (paths), reaches (host:port)
  module    of a module: file, kind (reactor, extism, command), abi, exports, imports,
            metered or unmetered (why not), restorable or unrestorable (why not),
            network and services (whether it imports these), instance_bytes (what it
            holds next to its memory), shared, globals, pure or impure
            (why not); or only problem: why it can't be called`,
		Example: `  reflectory plugin inspect reflectory/schema-eval
  reflectory plugin inspect words --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			p, err := a.findPlugin(args[0])
			if err != nil {
				return err
			}
			i := a.inspect(c.Context(), p)
			if a.flags.json {
				return a.printJSON(i)
			}
			return i.print(a)
		},
	}
}

// findPlugin is the installed plugin of a name, or that in a folder.
func (a *App) findPlugin(name string) (*install.Plugin, error) {
	set, err := a.openSet()
	if err != nil {
		return nil, err
	}
	if p := set.Find(name); p != nil {
		return p, nil
	}
	if info, err := os.Stat(name); err != nil || !info.IsDir() {
		return nil, pluginNotInstalled(set, name)
	}
	pkg, err := install.ReadPackage(name)
	if err != nil {
		return nil, err
	}
	return &install.Plugin{Name: pkg.Name, Version: pkg.Version, Folder: name, Package: pkg, Place: install.Place{Label: "not installed"}}, nil
}

// inspection is all that is known of a plugin without running it.
type inspection struct {
	pluginSummary
	// Package is its plugin.yaml; absent where it can't be read.
	Package *install.Package `json:"package,omitempty"`
	// Limits are those of the package with their defaults.
	Limits *limits `json:"limits,omitempty"`
	// Files are what the lock pins; Signer is the key that signed it.
	Files  map[string]string `json:"files,omitempty"`
	Signer string            `json:"signer,omitempty"`
	// Sandbox is what would confine its process here, and Module is what its module
	// is: it is one or the other.
	Sandbox *confinement `json:"sandbox,omitempty"`
	Module  *moduleFacts `json:"module,omitempty"`
}

func (a *App) inspect(ctx context.Context, p *install.Plugin) inspection {
	i := inspection{pluginSummary: summarize(p), Package: p.Package}
	if p.Locked != nil {
		i.Files, i.Signer = p.Locked.Files, p.Locked.Signer
	}
	if p.Package == nil {
		return i
	}
	i.Limits = newLimits(p.Package)
	switch installed := p.Installed(); installed.Runtime {
	case plugin.RuntimeProcess:
		i.Sandbox = a.confine(installed, p.Folder)
	case plugin.RuntimeWASM:
		i.Module = inspectModule(ctx, installed)
	}
	return i
}

// print shows an inspection to people.
func (i inspection) print(a *App) error {
	rows := [][2]string{
		{"version", i.Version}, {"description", i.Description}, {"kinds", joinKinds(i.Kinds)}, {"runtime", i.Runtime},
		{"from", i.From}, {"lock", i.Lock}, {"folder", i.Folder}, {"signed by", i.Signer},
	}
	if pkg := i.Package; pkg != nil {
		for _, platform := range slices.Sorted(maps.Keys(pkg.Entries)) {
			rows = append(rows, [2]string{strings.TrimSpace("entry " + platform), strings.Join(pkg.Entries[platform], " ")})
		}
		rows = append(rows, [2]string{"asks for", orNothing(pkg.Capabilities.List())}, [2]string{"limits", i.Limits.String()})
	}
	if len(i.Files) > 0 {
		rows = append(rows, [2]string{"granted", orNothing(i.Granted)})
	}
	if i.Problem != nil {
		rows = append(rows, [2]string{"problem", i.Problem.Message}, [2]string{"hint", i.Problem.Hint})
	}
	a.printSection(i.Name, rows)
	if i.Sandbox != nil {
		a.printSection("its sandbox here", i.Sandbox.rows())
	}
	if i.Module != nil {
		a.printSection("its module", i.Module.rows())
	}
	if len(i.Files) > 0 {
		fmt.Fprintln(a.Stdout, "its files, by SHA-256")
	}
	for _, name := range slices.Sorted(maps.Keys(i.Files)) {
		fmt.Fprintf(a.Stdout, "  %s  %s\n", i.Files[name], filepath.FromSlash(name))
	}
	return nil
}
