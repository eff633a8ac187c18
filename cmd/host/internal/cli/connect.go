package cli

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/connect"
	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/sdk"
)

func connectCommand(a *App) *cobra.Command {
	in := &connecting{app: a}
	c := &cobra.Command{
		Use: "connect [CLIENT]", Short: "Give a coding agent memory: its MCP entry and its hooks",
		Long: `Connect a coding agent on this machine: write the entry of the MCP server into its
settings and, where the client has them, the hooks that give it context and feedback
by themselves. CLIENT is claude-code, codex, cursor, vscode, gemini-cli or opencode.

Only the entries of reflectory change: comments, order and formatting stay. The change
is shown and, on a terminal, asked for. A copy of each file is kept, and --undo gives
its bytes back; from a file that was changed since, it takes out what was added. A file
that can't be parsed is left alone.

With --gateway, the client also reaches its model through the gateway of a server, at
the address in the setting listen, with a token that is made for it. This works for
claude-code, codex and opencode.`,
		Example: "  reflectory connect claude-code --scope project --dry-run\n  reflectory connect --list",
		RunE: func(c *cobra.Command, args []string) error {
			if in.list {
				return in.print()
			}
			if len(args) == 0 {
				return usageError{sdk.Errorf(sdk.Invalid, "usage", "CLIENT is missing").WithHint("name one of %s, or list what is connected with --list", clientNames())}
			}
			if in.options.Client = args[0]; !slices.Contains(connect.Clients(), args[0]) {
				return usageError{sdk.Errorf(sdk.Invalid, "client_unknown", "%q is not one of %s", core.Cut(args[0]), clientNames())}
			}
			if s := (*string)(&in.options.Scope); !slices.Contains([]string{"user", "project"}, *s) {
				return usageError{sdk.Errorf(sdk.Invalid, "usage", "--scope %q is neither user nor project", core.Cut(*s))}
			}
			return in.run(c)
		},
	}
	f := c.Flags()
	f.StringVar((*string)(&in.options.Scope), "scope", string(connect.User), "user: in every folder; project: only in this folder")
	f.BoolVar(&in.gateway, "gateway", false, "also send the client's requests to its model through the gateway")
	f.BoolVar(&in.dryRun, "dry-run", false, "only show what would change")
	f.BoolVar(&in.undo, "undo", false, "take everything back")
	f.BoolVar(&in.list, "list", false, "list what is connected")
	return c
}

// connecting is one call of connect.
type connecting struct {
	app                         *App
	options                     connect.Options
	gateway, dryRun, undo, list bool
}

// connected is what connect prints.
type connected struct {
	Client string        `json:"client"`
	Scope  connect.Scope `json:"scope"`
	Folder string        `json:"folder,omitempty"`
	// Files are the changed files, each with its diff.
	Files []changedFile `json:"files"`
	// Changed is whether the files were changed; a dry run changes none.
	Changed bool     `json:"changed"`
	Notes   []string `json:"notes,omitempty"`
}

type changedFile struct {
	Path string `json:"path"`
	Diff string `json:"diff"`
}

func (in *connecting) run(c *cobra.Command) error {
	a := in.app
	if a.remote() {
		return a.localOnly("connect")
	}
	if in.options.Scope == connect.Project {
		folder, err := os.Getwd()
		if err != nil {
			return err
		}
		in.options.Folder = connect.Resolved(folder)
	}
	if in.undo {
		return in.takeBack(c)
	}
	if err := in.prepare(); err != nil {
		return err
	}
	changes, err := in.options.Plan()
	if err != nil {
		return err
	}
	if len(changes) == 0 {
		return in.show(changes, false, []string{"it is connected already: there is nothing to change"})
	}
	if yes, err := in.approve(c, changes); err != nil || !yes {
		return err
	}
	token, err := in.token(c)
	if err != nil {
		return err
	}
	if in.gateway { // now with the token
		if changes, err = in.options.Plan(); err != nil {
			return err
		}
	}
	if err := a.config.MakeDataDir(); err != nil {
		return err
	}
	if _, err := in.options.Apply(a.config.DataDir.Value, changes, token, core.SystemClock{}.Now()); err != nil {
		return err
	}
	return in.show(changes, true, in.options.Notes())
}

// prepare completes the options.
func (in *connecting) prepare() (err error) {
	a, o := in.app, &in.options
	o.Getenv = a.Getenv
	if o.Home = a.Getenv("HOME"); o.Home == "" {
		if o.Home, err = os.UserHomeDir(); err != nil {
			return err
		}
	}
	if o.Program, err = program(); err != nil {
		return err
	}
	// A hook doesn't read the folder's settings, so its command names the data folder, unless that is the default.
	usual, err := config.Load(config.Sources{Folder: string(filepath.Separator), Getenv: func(name string) string {
		if name == "REFLECTORY_DATA_DIR" {
			return ""
		}
		return a.Getenv(name)
	}})
	if err != nil || usual.DataDir.Value != a.config.DataDir.Value {
		dir, err := filepath.Abs(a.config.DataDir.Value)
		if err != nil {
			return err
		}
		o.Args = []string{"--data-dir", dir}
	}
	if in.gateway {
		scheme := "http"
		if a.config.TLSCert.Value != "" || a.config.ACMEName.Value != "" {
			scheme = "https"
		}
		o.GatewayURL, o.Token = scheme+"://"+cmp.Or(a.config.Listen.Value, "127.0.0.1:7842"), "TOKEN"
	}
	return nil
}

// program is this program, by the name on the path if that is this one: the name stays when a new release
// replaces it.
func program() (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	if found, err := exec.LookPath("reflectory"); err == nil && connect.Resolved(found) == connect.Resolved(own) {
		return filepath.Abs(found)
	}
	return own, nil
}

// token makes a token for the gateway, and returns its id; "" if none is needed.
func (in *connecting) token(c *cobra.Command) (string, error) {
	if !in.gateway {
		return "", nil
	}
	made, err := do[operation.NewToken](c.Context(), in.app, "token_new", &operation.TokenNew{
		Subject: in.app.config.Agent.Value, Scopes: []core.Scope{core.ScopeModel}, Namespaces: []string{in.app.config.Namespace.Value}, Label: "reflectory connect " + in.options.Client, ExpiresIn: 365 * 24 * 3600,
	})
	if err != nil {
		return "", sdk.Wrap("make a token for the gateway", err)
	}
	in.options.Token = string(made.Secret)
	return made.ID, nil
}

// approve shows the changes and, on a terminal, asks for them.
func (in *connecting) approve(c *cobra.Command, changes []connect.Change) (bool, error) {
	a := in.app
	if in.dryRun {
		return false, in.show(changes, false, nil)
	}
	if a.out.json || !term.IsTerminal(a.Stdin) {
		return true, nil
	}
	for i := range changes {
		a.out.term.Line("%s", term.Lines(changes[i].Diff()))
	}
	fmt.Fprint(a.out.Stderr, "change that? [y/N] ") //nolint:errcheck // the answer is awaited either way
	answer, err := readAnswer(c.Context(), a)
	if err == nil && !slices.Contains([]string{"y", "yes"}, strings.ToLower(answer)) {
		err = sdk.Errorf(sdk.Denied, "not_connected", "nothing was changed")
	}
	return err == nil, err
}

// takeBack undoes a connection.
func (in *connecting) takeBack(c *cobra.Command) error {
	dir := in.app.config.DataDir.Value
	list, err := connect.Connections(dir)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(list, func(known connect.Connection) bool {
		return known.Client == in.options.Client && known.Scope == in.options.Scope && known.Folder == in.options.Folder
	})
	if at < 0 {
		return sdk.Errorf(sdk.NotFound, "not_connected", "%s is not connected with the scope %s here", in.options.Client, in.options.Scope).
			WithHint("list what is connected: reflectory connect --list")
	}
	known := list[at]
	changes, left := known.PlanUndo(dir)
	if len(changes) > 0 || in.dryRun {
		if yes, err := in.approve(c, changes); err != nil || !yes {
			return err
		}
	}
	if known.Token != "" {
		if _, err := do[operation.Token](c.Context(), in.app, "token_revoke", &operation.TokenRevoke{ID: known.Token}); err != nil && sdk.CodeOf(err) != sdk.NotFound {
			return sdk.Wrap("revoke the gateway's token", err)
		}
	}
	if _, err := known.Undo(dir); err != nil {
		return err
	}
	var notes []string
	for _, err := range left {
		notes = append(notes, err.Error())
	}
	return in.show(changes, true, notes)
}

// show prints what was or would be changed.
func (in *connecting) show(changes []connect.Change, changed bool, notes []string) error {
	out, result := in.app.out, connected{in.options.Client, in.options.Scope, in.options.Folder, []changedFile{}, changed, notes}
	for i := range changes {
		result.Files = append(result.Files, changedFile{changes[i].Path, strings.ReplaceAll(changes[i].Diff(), cmp.Or(in.options.Token, "\x00"), "[token]")})
	}
	if out.json {
		return out.printJSON(result)
	}
	for _, f := range result.Files {
		if changed {
			if err := out.say("changed %s", oneLine(f.Path)); err != nil {
				return err
			}
		} else if _, err := out.Stdout.Write([]byte(term.Lines(f.Diff))); err != nil {
			return err
		}
	}
	for _, note := range notes {
		out.term.Line("%s", term.Lines(note))
	}
	return nil
}

// print lists what is connected.
func (in *connecting) print() error {
	out := in.app.out
	list, err := connect.Connections(in.app.config.DataDir.Value)
	if err != nil {
		return err
	}
	if out.json {
		return out.printJSON(map[string]any{"items": append([]connect.Connection{}, list...)})
	}
	if len(list) == 0 {
		out.term.Line("nothing is connected")
		return nil
	}
	return printRows(out, []string{"CLIENT", "SCOPE", "FOLDER", "FILES", "SINCE"}, list, func(c connect.Connection) []string {
		return []string{c.Client, string(c.Scope), cell(c.Folder), fmt.Sprint(len(c.Files)), term.Time(c.At)}
	})
}
