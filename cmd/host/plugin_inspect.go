package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/install"
)

func (a *App) pluginInspectCommand() *cobra.Command {
	return &cobra.Command{
		Use: "inspect NAME|PATH", Short: "Show all that is known of a plugin",
		Long: `Show all that is known of an installed plugin, or of one in a folder that isn't
installed: what it is and asks for, what bounds it, and what the lock pins. Nothing
of it is run.`,
		Example: `  reflectory plugin inspect reflectory/schema-eval
  reflectory plugin inspect bin/plugins/reflectory/schema-eval --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := a.findPlugin(args[0])
			if err != nil {
				return err
			}
			i := inspect(p)
			if a.flags.json {
				return printJSON(a.Stdout, i)
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
	// More are what drivers know of it, such as what its sandbox can do here, and
	// what its module exports: each a title with facts.
	More []section `json:"more,omitempty"`
}

// section is a part of an inspection.
type section struct {
	Title string   `json:"title"`
	Facts []string `json:"facts"`
}

func inspect(p *install.Plugin) inspection {
	i := inspection{pluginSummary: summarize(p), Package: p.Package}
	if p.Package != nil {
		i.Limits = newLimits(p.Package)
	}
	if p.Locked != nil {
		i.Files, i.Signer = p.Locked.Files, p.Locked.Signer
	}
	i.More = driverSections(p)
	return i
}

// driverSections is where drivers add what they know of a plugin.
func driverSections(*install.Plugin) []section { return nil }

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
	fmt.Fprintln(a.Stdout, i.Name)
	for _, row := range rows {
		if row[1] != "" {
			fmt.Fprintf(a.Stdout, "  %-12s %s\n", row[0], term.Clean(row[1]))
		}
	}
	for _, s := range i.More {
		fmt.Fprintf(a.Stdout, "%s\n", s.Title)
		for _, fact := range s.Facts {
			fmt.Fprintf(a.Stdout, "  %s\n", term.Clean(fact))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(i.Files)) {
		fmt.Fprintf(a.Stdout, "  %s  %s\n", i.Files[name], filepath.FromSlash(name))
	}
	return nil
}

// limits are what bounds each instance of a plugin.
type limits struct {
	MemoryBytes int64  `json:"memory_bytes"`
	Timeout     string `json:"timeout"`
	OutputBytes int    `json:"output_bytes"`
	Instances   int    `json:"instances"`
	// Parallel is how many calls an instance takes at a time; 0 is what it says.
	Parallel int `json:"parallel"`
	// Fuel is a module's, Processes is a process's.
	Fuel      uint64 `json:"fuel,omitempty"`
	Processes int    `json:"processes,omitempty"`
}

func newLimits(p *install.Package) *limits {
	l := p.Limits.WithDefaults(p.Runtime)
	shown := &limits{MemoryBytes: l.MemoryBytes, Timeout: l.Timeout.String(), OutputBytes: l.MessageBytes, Instances: l.Instances, Parallel: l.Parallel}
	if p.Runtime == plugin.RuntimeWASM {
		shown.Fuel = l.Fuel
	} else {
		shown.Processes = l.Processes
	}
	return shown
}

// String is a line for people.
func (l *limits) String() string {
	text := fmt.Sprintf("memory %d MiB, timeout %s, output %d KiB, instances %d", l.MemoryBytes>>20, l.Timeout, l.OutputBytes>>10, l.Instances)
	if l.Parallel > 0 {
		text += fmt.Sprintf(", parallel %d", l.Parallel)
	}
	if l.Fuel > 0 {
		return text + fmt.Sprintf(", fuel %d", l.Fuel)
	}
	return text + fmt.Sprintf(", processes %d", l.Processes)
}
