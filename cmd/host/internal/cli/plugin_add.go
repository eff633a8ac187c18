package cli

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/plugin/process"
	"github.com/reflectory/reflectory/core/plugin/wasm"
	"github.com/reflectory/reflectory/sdk"
)

// addFlags are the flags of plugin add.
type addFlags struct {
	grant      []string
	inPlace    bool
	purge      bool
	replace    bool
	sha256     string
	sideBySide bool
	mcp, url   string
}

func pluginAddCommand(a *App) *cobra.Command {
	var f addFlags
	c := &cobra.Command{
		Use: "add [PATH|ADDRESS|COMMAND…]", Short: "Install a plugin and pin it",
		Long: `Install a plugin and pin it in reflectory.lock: the SHA-256 of every file, for all
platforms, and the capabilities that it is granted. PATH is its folder, or an archive
that plugin pack made. ADDRESS is https://HOST/FILE.tar.gz, which needs --sha256, or
oci://REGISTRY/NAME:VERSION, whose digest is pinned; both without a login. The
capabilities that the plugin asks for are shown. On a terminal you are asked to grant them; elsewhere, --grant must
name exactly these. A WASM module is compiled first, and refused if that fails. The
plugin's files are copied to the plugin folder, unless --in-place leaves them where they
are, for plugins that belong to the lock's own folder. The command says which version
the plugin replaces, and whether that is a downgrade. The old version's copy stays,
since other locks may pin it, unless --purge deletes it (plugin prune deletes every copy
that no lock names). A package with the name of a plugin that comes with the program is
refused, unless --replace lets it take that plugin's place.

With --mcp NAME it makes a plugin of an MCP server, whose tools then judge and make outputs
(type: mcp, action: mcp.call). COMMAND is how the server is started, after --: npx -y
PACKAGE@VERSION, of which the exact version is installed into the plugin's folder without running its
scripts, or a program, whose files are copied. With --url it is reached by HTTP instead. The
server is started once in the sandbox, to pin the definitions of its tools; a tool that has
another one later is refused, until the server is added again.`,
		Example: `  reflectory plugin add words
  reflectory plugin add --mcp everything --grant fs:system -- npx -y @modelcontextprotocol/server-everything
  reflectory plugin add --mcp search --url https://mcp.example.org/mcp --grant network:mcp.example.org:443`,
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case f.mcp != "":
				return addMCP(c.Context(), a, args, f)
			case f.url != "":
				return usage(sdk.Errorf(sdk.Invalid, "usage", "--url needs --mcp NAME"))
			case len(args) == 0:
				return usage(sdk.Errorf(sdk.Invalid, "usage", "%s needs PATH|ADDRESS", c.CommandPath()).WithHint("for example: reflectory plugin add words"))
			case len(args) > 1:
				return usage(sdk.Errorf(sdk.Invalid, "usage", "%s takes PATH|ADDRESS, not %d arguments: %q is too many", c.CommandPath(), len(args), core.Cut(args[1])).
					WithHint("a command follows --mcp NAME --"))
			}
			return addPlugin(c.Context(), a, args[0], f)
		},
	}
	c.Flags().StringSliceVar(&f.grant, "grant", nil, "the `capabilities` that it asks for, such as network:example.org:443,fs:system")
	c.Flags().StringVar(&f.sha256, "sha256", "", "the `digest` that the archive must have, as plugin pack prints it")
	c.Flags().BoolVar(&f.inPlace, "in-place", false, "use the folder where it is, below the lock's, instead of a copy")
	c.Flags().BoolVar(&f.sideBySide, "side-by-side", false, "pin it as NAME@VERSION, next to other versions, for workflows that name it so")
	c.Flags().BoolVar(&f.purge, "purge", false, "delete the copied files of the version that it replaces")
	c.Flags().BoolVar(&f.replace, "replace", false, "let it take the place of a plugin that comes with the program: a package whose name begins with "+install.ShippedPublisher)
	c.Flags().StringVar(&f.mcp, "mcp", "", "make a plugin of an MCP server, with this `name`")
	c.Flags().StringVar(&f.url, "url", "", "the `address` of the MCP server")
	return c
}

// mayReplace refuses a package with a name of the plugins that come with the program, unless it is
// the same package or that is wanted. A user who runs a workflow with such a name expects the program's
// own. shipped is the lock of those plugins, which is empty where none is built.
func mayReplace(shipped *install.Lock, r install.Request, wanted bool) error {
	name := r.Package.Name
	if wanted || len(shipped.Plugins) == 0 || !strings.HasPrefix(name, install.ShippedPublisher) {
		return nil
	}
	for _, own := range shipped.Plugins {
		if own.Name == name && maps.Equal(own.Files, r.Files) {
			return nil
		}
	}
	return install.Reserved(name, "this package").
		WithHint("if you want that, add --replace; otherwise give it a publisher of its own")
}

func addPlugin(ctx context.Context, a *App, path string, f addFlags) error {
	place, err := host.ProjectPlace(a.config)
	if err != nil {
		return err
	}
	trust, err := install.ReadTrust(a.config.TrustFile.Value)
	if err != nil {
		return err
	}
	shippedPlace := host.ShippedPlace()
	shipped, err := install.ReadLock(shippedPlace.Lock)
	if err != nil {
		return err
	}
	var added addedPlugin
	p, err := install.Add(ctx, path, install.AddOptions{
		Place: place, InPlace: f.inPlace, Purge: f.purge, Trust: trust, SideBySide: f.sideBySide, SHA256: f.sha256, Transport: a.config.Network().Transport(),
		Approve: func(r install.Request) error {
			added.Replaced, added.Unchecked = r.Replaced(), r.Unchecked()
			if place.Lock != shippedPlace.Lock { // else they are being built
				if err := mayReplace(shipped, r, f.replace); err != nil {
					return err
				}
			}
			return approvePlugin(ctx, a, r, f.grant)
		},
		Check: func(ctx context.Context, p *install.Plugin) error {
			module, undescribed, err := tryPlugin(ctx, a, p)
			added.tried(module, undescribed)
			return err
		},
	})
	if err != nil {
		return err
	}
	added.PluginSummary, added.Limits, added.files = host.Summarize(p), host.LimitsOf(p.Package), len(p.Locked.Files)
	added.Source, added.Archive = p.Locked.Source, p.Locked.Archive
	if a.out.json {
		return a.out.printJSON(added)
	}
	added.print(a)
	return nil
}

// addMCP makes the package of an MCP server, and adds it. What it is granted is asked before it is started for the first
// time, which is in the sandbox and pins its tools.
func addMCP(ctx context.Context, a *App, command []string, f addFlags) (err error) {
	a.out.term.Status("fetching the server %s …", term.Clean(f.mcp))
	folder, release, err := install.StageMCP(ctx, install.MCPServer{Name: f.mcp, Command: command, URL: f.url, Granted: f.grant}, host.ShippedPlace())
	a.out.term.Clear()
	if err != nil {
		return err
	}
	defer release()
	pkg, err := install.ReadPackage(folder)
	if err != nil {
		return err
	}
	if err := approvePlugin(ctx, a, install.Request{Package: pkg}, f.grant); err != nil {
		return err
	}
	f.grant = pkg.Capabilities.List()
	drivers, err := host.OpenDrivers(a.config, []plugin.Installed{{Runtime: pkg.Runtime, Granted: pkg.Capabilities}}, host.DriverOptions{Log: func(plugin.LogLine) {}})
	if err != nil {
		return err
	}
	defer closing(&err, drivers)
	a.out.term.Status("asking %s for its tools …", term.Clean(pkg.Name))
	tools, err := install.PinTools(ctx, folder, process.TempDir(), drivers)
	a.out.term.Clear()
	if err != nil {
		return err
	}
	if err := addPlugin(ctx, a, folder, f); err != nil || a.out.json {
		return err
	}
	fmt.Fprintf(a.out.Stdout, "tools %s\n", term.Clean(strings.Join(tools, ", ")))
	return nil
}

// addedPlugin is a plugin that was pinned, and its limits.
type addedPlugin struct {
	host.PluginSummary
	Limits *host.PluginLimits `json:"limits"`
	// Metered is whether fuel limits a module; if not, Unmetered is the reason. A process
	// has neither.
	Metered   *bool  `json:"metered,omitempty"`
	Unmetered string `json:"unmetered,omitempty"`
	// Replaced lists how it differs from the version that was pinned under its name.
	Replaced []string `json:"replaced,omitempty"`
	// Described is whether the plugin described itself exactly as in its plugin.yaml;
	// false if it can't be started on this machine.
	Described bool `json:"described"`
	// Unchecked is whether it has a signature that doesn't show who made it, because the trust file
	// names no key of its publisher.
	Unchecked bool `json:"signature_unchecked,omitempty"`
	// Source is where it is from, if the lock has that, and Archive the SHA-256 of a downloaded archive.
	Source  string `json:"source,omitempty"`
	Archive string `json:"archive,omitempty"`

	module      *wasm.Info // nil for a process
	undescribed error      // why it can't be started
	files       int
}

// tried notes the result of a trial.
func (p *addedPlugin) tried(module *wasm.Info, undescribed error) {
	p.module, p.undescribed, p.Described = module, undescribed, undescribed == nil
	if module != nil {
		p.Metered, p.Unmetered = &module.Metered, module.Unmetered
	}
}

// print shows it to people.
func (p *addedPlugin) print(a *App) {
	fmt.Fprintf(a.out.Stdout, "added %s %s (%s), granted %s\nlimits %s\n", p.Name, p.Version, plural(p.files, "file", "files"), orNothing(p.Granted), limitsLine(p.Limits))
	if p.module != nil {
		fmt.Fprintf(a.out.Stdout, "metered %s\n", meteredText(p.module))
	}
	if len(p.Replaced) > 0 {
		fmt.Fprintf(a.out.Stdout, "replaces %s\n", strings.Join(p.Replaced, "; "))
	}
	if p.undescribed != nil {
		a.out.term.Line("note: the plugin couldn't be started here, so only its plugin.yaml is known: %s", term.Clean(p.undescribed.Error()))
	}
	fmt.Fprintf(a.out.Stdout, "pinned in %s\n", p.Lock)
	if p.Signer != "" {
		fmt.Fprintf(a.out.Stdout, "signed by key %s\n", p.Signer)
	}
	if p.Unchecked {
		a.out.term.Line("note: %s", uncheckedLine(p.Name, p.UntrustedSigner))
	}
}

// uncheckedLine says what a signature shows if the trust file names no key of the publisher.
func uncheckedLine(name, signer string) string {
	publisher, _, _ := strings.Cut(name, "/")
	if signer == "" {
		return "it has a signature, which wasn't checked: the trust file names no key of " + publisher
	}
	return "signed by key " + signer + ", which isn't trusted: the trust file names no key of " + publisher
}

// tryPlugin tries a plugin before it is pinned. A module is compiled, so that its first
// start is quick, and isn't pinned if that fails. The plugin is also asked to describe
// itself, so that a plugin with a wrong plugin.yaml, or of another contract, isn't pinned
// either. A plugin that can't be started here, perhaps because its interpreter is missing,
// may work on another machine; undescribed is the reason why it can't be started.
func tryPlugin(ctx context.Context, a *App, p *install.Plugin) (module *wasm.Info, undescribed, err error) {
	drivers, err := host.OpenDrivers(a.config, []plugin.Installed{{Runtime: p.Package.Runtime}}, host.DriverOptions{Log: func(plugin.LogLine) {}})
	if err != nil {
		return nil, nil, err
	}
	defer closing(&err, drivers)
	if p.Package.Module() != "" {
		a.out.term.Status("compiling %s, which is done once …", term.Clean(p.Name))
	}
	defer a.out.term.Clear()
	if module, err = drivers.Compile(ctx, p); err != nil {
		return nil, nil, err
	}
	a.out.term.Status("asking %s what it is …", term.Clean(p.Name))
	err = install.Describe(ctx, p, process.TempDir(), drivers)
	// What it says of itself is the same on every machine.
	said := []string{"manifest_mismatch", "manifest_invalid", "contract_mismatch"}
	if err == nil || ctx.Err() != nil || slices.Contains(said, sdk.ReasonOf(err)) {
		return module, nil, err
	}
	return module, err, nil
}

// approvePlugin shows the capabilities that a plugin asks for, and asks whether they are
// granted.
func approvePlugin(ctx context.Context, a *App, r install.Request, grant []string) error {
	names := r.Package.Capabilities.List()
	if len(names) == 0 || len(grant) > 0 || !term.IsTerminal(a.Stdin) || a.out.json {
		return install.Exactly(r.Package, grant)
	}
	a.out.term.Line("%s %s asks for:", r.Package.Name, r.Package.Version)
	for _, name := range names {
		note := ""
		if r.Before != nil && slices.Contains(r.New(), name) {
			note = "  (new)"
		}
		a.out.term.Line("  %s%s", term.Clean(name), note)
	}
	if r.Unchecked() {
		a.out.term.Line("%s", uncheckedLine(r.Package.Name, r.UntrustedSigner))
	}
	fmt.Fprint(a.out.Stderr, "grant that? [y/N] ")
	answer, err := readAnswer(ctx, a)
	if err != nil {
		return err
	}
	if !slices.Contains([]string{"y", "yes"}, strings.ToLower(answer)) {
		return sdk.Errorf(sdk.Denied, "capability_not_granted", "plugin %s was not granted the capabilities that it asks for", r.Package.Name)
	}
	return nil
}

// readAnswer reads a line from a person, who may also interrupt the command.
func readAnswer(ctx context.Context, a *App) (string, error) {
	return await(ctx, "an answer", func() (string, error) {
		text, _ := bufio.NewReader(a.Stdin).ReadString('\n')
		return strings.TrimSpace(text), nil
	})
}

func pluginRemoveCommand(a *App) *cobra.Command {
	var purge bool
	c := &cobra.Command{
		Use: "remove NAME", Short: "Remove a plugin from the lock",
		Long: `Remove a plugin from the lock. Its copied files stay in the plugin folder, where
other locks may pin them too, unless --purge deletes them.`,
		Example: "  reflectory plugin remove acme/words",
		RunE: func(_ *cobra.Command, args []string) error {
			place, err := host.ProjectPlace(a.config)
			if err != nil {
				return err
			}
			if err := install.Remove(place, args[0], purge); err != nil {
				return err
			}
			if a.out.json {
				return a.out.printJSON(map[string]string{"removed": args[0], "lock": place.Lock})
			}
			_, err = fmt.Fprintf(a.out.Stdout, "removed %s from %s\n", args[0], place.Lock)
			return err
		},
	}
	c.Flags().BoolVar(&purge, "purge", false, "delete its copied files too")
	return c
}

func pluginSignCommand(out *output) *cobra.Command {
	var key string
	c := &cobra.Command{
		Use: "sign --key FILE PATH", Short: "Sign the plugin in a folder",
		Long: `Sign the plugin in a folder: write ` + install.SignatureFile + `, which covers every other file.
The key is an ed25519 private key in PEM: openssl genpkey -algorithm ed25519 -out key.pem.
To trust the key, put its public half into the trust file: the text that
openssl pkey -in key.pem -pubout prints between the BEGIN and END lines, as in
publishers: {acme: [MCowBQYDK2VwAyEA…]}.`,
		Example: "  reflectory plugin sign --key key.pem words",
		RunE: func(c *cobra.Command, args []string) error {
			signer, err := install.Sign(c.Context(), args[0], key)
			if err != nil {
				return err
			}
			if out.json {
				return out.printJSON(map[string]string{"signer": signer, "folder": args[0]})
			}
			_, err = fmt.Fprintf(out.Stdout, "signed %s with key %s\n", args[0], signer)
			return err
		},
	}
	c.Flags().StringVar(&key, "key", "", "PEM `file` of the private key (required)")
	required(c, "key")
	return c
}
