package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
)

const about = `Reflectory runs reflection workflows: it generates an output, evaluates it, and
corrects it until it passes or a limit stops it. Generators, evaluators and
correctors are plugins, which it doesn't trust. Every attempt is stored
before the next step, so a killed run resumes where it stopped.

Results go to standard output and everything else to standard error. With --json,
standard output is one JSON value, and an error is
{"error": {"code", "message", "hint"?, "try"?, "details"?}}.

Exit codes: 0 passed, 1 failure, 2 usage, 3 not valid, 4 refused, 5 raised,
130 cancelled.`

// root is the command tree: the one list of all commands.
func (a *App) root() *cobra.Command {
	a.begin()
	root := &cobra.Command{
		Use: "reflectory", Short: "Run reflection workflows on plugins", Long: about,
		Example: "  reflectory run examples/extract-contact/workflow.yaml --input examples/extract-contact/message.eml",
		// --version and -v, which work with any configuration, even a broken one.
		Version:       host.VersionOf(version).String(),
		SilenceUsage:  true,
		SilenceErrors: true,
		// unknownCommand suggests a command; the library would compare a word of any length first.
		DisableSuggestions: true,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			if slices.Contains([]string{"help", "try", "doctor"}, c.Name()) || !c.HasParent() {
				return nil // they work with any settings, even wrong ones
			}
			if strings.HasPrefix(c.Name(), cobra.ShellCompRequestCmd) {
				return nil // completion reports no errors
			}
			if err := a.load(); err != nil {
				return err
			}
			if err := a.checkRemote(c); err != nil {
				return err
			}
			c.SetContext(core.WithCaller(c.Context(), core.Operator(a.config.Agent.Value)))
			return a.checkDataDir(c)
		},
	}
	root.RunE = func(c *cobra.Command, _ []string) error {
		a.understood = true
		return a.welcome(c)
	}
	root.SetFlagErrorFunc(a.mistakes)
	root.SetHelpFunc(help)
	root.SetVersionTemplate("{{.Version}}")
	f := root.PersistentFlags()
	f.BoolVar(&a.out.json, "json", false, "print one JSON value on standard output")
	f.StringVar(&a.flags.dataDir, "data-dir", "", "folder of all data (default: in the user's data home)")
	f.StringVar(&a.flags.pluginDir, "plugin-dir", "", "folder that added plugins are copied to (default: plugins in the data folder)")
	f.StringVar(&a.flags.lock, "lock", "", "`file` that pins the plugins (default: reflectory.lock next to reflectory.yaml, else in the data folder)")
	f.StringVar(&a.flags.policyDir, "policy-dir", "", "folder of the policies (default: policies in the data folder, if it exists)")
	f.StringVar(&a.flags.sandbox, "sandbox", "", "whether plugins must be sandboxed: require, prefer, off (default prefer)")
	f.StringVar(&a.flags.logLevel, "log-level", "", "lowest level of logs shown: the logs of plugins and, at info, the journal's events: trace, debug, info, warn, error, off (default warn)")
	f.StringVar(&a.flags.store, "store", "", "PostgreSQL `database` that is the store, as postgres://user@host/database, with its password in PGPASSWORD (default: a store in the data folder)")
	f.StringVar(&a.flags.stores, "stores", "", "YAML `file` that maps tenants to databases; all other tenants use --store, or * in the file")
	f.StringVar(&a.flags.storeWait, "store-wait", "", "`time` to wait for a database that can't be reached (default 30s)")
	f.StringVar(&a.flags.durability, "durability", "", "when a change counts as stored: full is once it is on disk, relaxed is earlier, so that a crash may lose the newest changes (default full)")
	f.StringVar(&a.flags.agent, "agent", "", "`name` of the agent, which events record (default: your user name)")
	f.StringVar(&a.flags.server, "server", "", "`URL` of a server to use, with the token in REFLECTORY_TOKEN, instead of the store here")
	f.StringVar(&a.flags.lockWait, "lock-wait", "", "`time` to wait for a store that another program has open (default 2s)")
	root.AddCommand(
		tryCommand(a), initCommand(a), runCommand(a), resumeCommand(a), replayCommand(a), runsCommand(a),
		evaluateCommand(a), correctCommand(a), workflowCommand(a), pluginCommand(a), policyCommand(a),
		memoryCommand(a), knowledgeCommand(a), governanceCommand(a), gateCommand(a), evidenceCommand(a),
		auditCommand(a), storeCommand(a), decisionsCommand(a), sessionCommand(a), discoverCommand(a), dreamCommand(a), injectCommand(a), tokenCommand(a), hostsCommand(a), tenantCommand(a), jobsCommand(a), reflectCommand(a),
		serveCommand(a), mcpCommand(a), connectCommand(a), hookCommand(a), openCommand(a), statusCommand(a), doctorCommand(a), statsCommand(a), configCommand(a), schemaCommand(a.out), versionCommand(a.out), verifyReleaseCommand(a.out), environmentTopic(), flagsTopic(), termsTopic(),
	)
	a.out.commands = root
	for _, c := range root.Commands() {
		a.marksStart(c)
	}
	// Otherwise the library doesn't know these flags while it looks for the command, and
	// treats the next word as their value.
	root.InitDefaultHelpFlag()
	root.InitDefaultVersionFlag()
	return root
}

// marksStart makes a command and its children note that their command line was valid: an
// error before that is a usage error.
func (a *App) marksStart(c *cobra.Command) {
	namespaceBothWays(c)
	c.Args = func(c *cobra.Command, args []string) error {
		if c.HasSubCommands() && len(args) > 0 {
			return unknownCommand(c, args[0])
		}
		return usage(argumentError(c, args), takeNamespace(c, args), missingFlags(c, nil), emptyNamespace(c))
	}
	if run := c.RunE; run != nil {
		c.RunE = func(c *cobra.Command, args []string) error {
			a.understood = true
			return run(c, placed(c, args))
		}
	}
	for _, child := range c.Commands() {
		a.marksStart(child)
	}
}

// needsCommand runs for a command that only groups others.
func needsCommand(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknownCommand(c, args[0])
	}
	return c.Help()
}

// required marks a flag as required.
func required(c *cobra.Command, flag string) {
	if err := c.MarkFlagRequired(flag); err != nil {
		panic(err) // the caller defined the flag
	}
}
