package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/scaffold"
)

func pluginNewCommand(out *output) *cobra.Command {
	var o scaffold.Options
	c := &cobra.Command{
		Use: "new NAME --lang LANGUAGE", Short: "Create a plugin that works",
		Long: `Create a plugin: write a project with a working plugin, fixtures, and a README
that says how to build, test and add it. NAME is publisher/name; without a
publisher it is local/name. The languages and their runtimes:

` + languageTable(),
		Example: "  reflectory plugin new acme/tone --lang go\n  reflectory plugin new acme/tone --lang c --dir tone-c",
		RunE: func(_ *cobra.Command, args []string) error {
			o.Name = args[0]
			return newPlugin(out, o)
		},
	}
	wordFlag(c, &o.Language, "lang", "`language` of the plugin (required)", languageNames())
	wordFlag(c, &o.Runtime, "runtime", "what runs it: process or wasm (default: the first one of the language)", []string{"process", "wasm"})
	c.Flags().StringVar(&o.Dir, "dir", "", "`folder` to write (default: the plugin's name)")
	c.Flags().StringVar(&o.SDK, "sdk", "", "for Go: a `checkout` of Reflectory to build with (needed until its sdk is published)")
	required(c, "lang")
	return c
}

// languageTable lists the languages for a help text.
func languageTable() string {
	var out strings.Builder
	for _, l := range scaffold.Languages() {
		fmt.Fprintf(&out, "  %-15s %s\n", l.Name, strings.Join(l.Runtimes, ", "))
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// newPlugin writes a new plugin and prints what to do next.
func newPlugin(out *output, o scaffold.Options) error {
	dir, files, err := scaffold.Write(o)
	if err != nil {
		return err
	}
	if out.json {
		return out.printJSON(map[string]any{"dir": dir, "files": files})
	}
	for _, name := range files {
		fmt.Fprintln(out.Stdout, filepath.Join(dir, filepath.FromSlash(name)))
	}
	out.term.Line("next: %s says how to build, test and add it", filepath.Join(dir, "README.md"))
	if lacks := o.Lacks(); lacks != "" {
		out.term.Line("%s", lacks)
	}
	return nil
}
