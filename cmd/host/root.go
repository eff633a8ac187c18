package main

import (
	"github.com/spf13/cobra"
)

const about = `Reflectory runs reflection workflows: it generates an output, evaluates it, and
corrects it until it passes or a limit stops it. Generators, evaluators and
correctors are plugins that run outside its trust. Every attempt is stored
before the next step, so a killed run resumes where it was.

Results go to standard output and all else to standard error. With --json,
standard output is one JSON value, and an error is
{"error": {"code", "message", "hint"?, "details"?}}.

Exit codes: 0 passed, 1 failure, 2 usage, 3 not valid, 4 refused, 5 raised,
130 cancelled.`

// root is the command tree, the one list of all commands.
func (a *App) root() *cobra.Command {
	root := &cobra.Command{
		Use: "reflectory", Short: "Run reflection workflows on plugins", Long: about,
		Example:           "  reflectory run examples/extract-contact/workflow.yaml --input examples/extract-contact/message.eml",
		SilenceUsage:      true,
		SilenceErrors:     true,
		PersistentPreRunE: func(*cobra.Command, []string) error { return a.load() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	f := root.PersistentFlags()
	f.BoolVar(&a.flags.json, "json", false, "print one JSON value on standard output")
	f.StringVar(&a.flags.dataDir, "data-dir", "", "folder of all state (default: in the user's data home)")
	f.StringVar(&a.flags.pluginDir, "plugin-dir", "", "folder of the plugins (default: plugins beside this program)")
	f.StringVar(&a.flags.logLevel, "log-level", "", "least level of plugin logs shown: debug, info, warn, error, off (default warn)")
	root.AddCommand(
		a.runCommand(), a.resumeCommand(), a.replayCommand(), a.runsCommand(),
		a.evaluateCommand(), a.correctCommand(),
		a.configCommand(), a.versionCommand(),
	)
	for _, c := range root.Commands() {
		usageArgs(c)
	}
	return root
}

// usageArgs makes wrong arguments of a command and its children usage errors.
func usageArgs(c *cobra.Command) {
	check := c.Args
	if check == nil {
		check = cobra.NoArgs
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return usageError{err}
		}
		return nil
	}
	for _, child := range c.Commands() {
		usageArgs(child)
	}
}
