package cli

import (
	"cmp"
	"context"
	"fmt"

	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/host/operation"
)

func statusCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show what this host is and what it can do",
		Long: `Show what this host is and what it can do: its version, where its data is,
who has its store open, the installed plugins and how each would be sandboxed, the
parts of the sandbox that this system has, and the cache of WASM modules. Nothing
is started, opened for writing, or changed. An error in a part is reported there;
the exit code is 0.

With --json, each part is an object of its own; later versions add to them:
  version   as the version command has it
  config    file: the reflectory.yaml in use, "" for none; data_dir and sandbox, each
            with its value and origin (config show has all settings)
  store     folder, exists, bytes, durability with its value and origin, holder: {pid,
            program, since, durability} of who has it open
  plugins   lock, list: name version runtime from, state (ready, or the code of its
            problem), sandbox (full; partial: something essential is missing; none;
            refused; module)
  sandbox   mode, refuses, holds and the parts, as plugin inspect has them
  programs  allow: the programs that plugins may have run; missing: what this
            system can't bound; refused: whether they are therefore refused
  server    url, listen, beyond, encryption, auth and models of a server, where one has
            the store open; auth is none where it asks for no credentials, and models
            are what its gateway serves
  wasm      folder, code_bytes, module_bytes, verdicts, verdict_bytes,
            verdict_limit_bytes
Store, plugins and wasm have problem, {code, message, hint?, try?, details?}, if
they can't be read; the whole has one if no command that needs the host can
work, as with invalid policies.`,
		Example: "  reflectory status\n  reflectory status --json",
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := currentStatus(c.Context(), a)
			if err != nil {
				return err
			}
			if a.out.json {
				return a.out.printJSON(s)
			}
			return printStatus(a.out, s)
		},
	}
}

// currentStatus asks the host, or, if it can't be opened, reports what can be read
// without it.
func currentStatus(ctx context.Context, a *App) (*host.Status, error) {
	if _, err := a.client(ctx); err != nil {
		return nil, err
	}
	if a.server != nil {
		return do[host.Status](ctx, a, "status", &operation.StatusGet{})
	}
	if _, err := a.openHost(ctx); err != nil {
		s := host.UnopenedStatus(a.config, version, a.notice)
		s.Problem = core.NewErrorInfo(err)
		return s, nil
	}
	return do[host.Status](ctx, a, "status", &operation.StatusGet{})
}

// programRows are the facts about programs of this machine that plugins may have run, for people.
func programRows(p host.ProgramsStatus) [][2]string {
	holds := "all bounds"
	switch {
	case p.Refused:
		holds = "too little: programs are refused"
	case len(p.Missing) > 0:
		holds = "not all bounds, and the sandbox is off"
	}
	rows := [][2]string{{"allowed", strings.Join(p.Allow, ", ")}, {"holds", holds}}
	for _, text := range p.Missing {
		rows = append(rows, [2]string{"missing", text})
	}
	return rows
}

// printStatus shows the status to people.
func printStatus(out *output, s *host.Status) error {
	out.printSection("reflectory "+s.Version.Version, [][2]string{
		{"platform", s.Version.Platform + ", " + s.Version.Go},
		{"config", cmp.Or(s.Config.File, "no "+config.FileName)},
		{"data", s.Config.DataDir.Value + " (" + s.Config.DataDir.Origin + ")"},
		{"store", storeLine(s.Store)},
		{"durability", s.Store.Durability.Value + " (" + s.Store.Durability.Origin + ")"},
		{"wasm cache", wasmLine(s.WASM)},
	})
	if s.Server != nil {
		rows := [][2]string{
			{"url", s.Server.URL}, {"listen", s.Server.Listen}, {"encryption", string(s.Server.Encryption)}, {"credentials", authLine(s.Server.Auth)},
		}
		if len(s.Server.Models) > 0 {
			rows = append(rows, [2]string{"models", strings.Join(s.Server.Models, ", ")})
		}
		out.printSection("server", rows)
	}
	if s.Problem != nil {
		out.printSection("host", [][2]string{{"problem", s.Problem.Message}, {"hint", out.hint(s.Problem)}})
	}
	out.printSection("sandbox", sandboxRows(s.Sandbox))
	if len(s.Programs.Allow) > 0 {
		out.printSection("programs", programRows(s.Programs))
	}
	if s.Plugins.Problem != nil {
		out.printSection("plugins", [][2]string{{"problem", s.Plugins.Problem.Message}, {"hint", out.hint(s.Plugins.Problem)}})
		return nil
	}
	fmt.Fprintf(out.Stdout, "plugins (%s)\n", s.Plugins.Lock)
	if len(s.Plugins.List) == 0 {
		fmt.Fprintln(out.Stdout, "  none is installed")
		return nil
	}
	rows := make([][]string, len(s.Plugins.List))
	for i, p := range s.Plugins.List {
		from := p.From
		if p.Replaces != "" {
			from += ", in place of the shipped " + p.Replaces
		}
		rows[i] = []string{"  " + p.Name, p.Version, p.Runtime, from, p.State, p.Sandbox}
	}
	return out.table([]string{"  PLUGIN", "VERSION", "RUNTIME", "FROM", "STATE", "SANDBOX"}, rows)
}

// authLine describes how callers are authenticated, for people.
func authLine(auth string) string {
	if auth == host.AuthNone {
		return "none: every program on this machine may read and write memories, and run workflows"
	}
	return auth
}

// storeLine is the store on a line, for people.
func storeLine(s host.StoreStatus) string {
	switch {
	case s.Problem != nil:
		return s.Problem.Message
	case s.Database != nil:
		return databaseLine(s.Database)
	case !s.Exists:
		return "none yet: the first run creates it"
	case s.Holder != nil:
		return fmt.Sprintf("%s, open in %s (pid %d, durability %s)", term.Size(s.Bytes), s.Holder.Program, s.Holder.PID, cmp.Or(s.Holder.Durability, "unknown"))
	}
	return term.Size(s.Bytes) + ", not open"
}

// databaseLine describes, in a line for people, the database that is the store.
func databaseLine(d *host.DatabaseStatus) string {
	if d.Version == "" {
		return "database " + term.Clean(d.Name)
	}
	line := fmt.Sprintf("database %s, PostgreSQL %s", term.Clean(d.Name), term.Clean(d.Version))
	if d.Warning != "" {
		return line + ": " + d.Warning
	}
	return line + ", synchronous standby " + term.Clean(d.Standby)
}

// wasmLine is the cache of modules on a line, for people.
func wasmLine(s host.WASMStatus) string {
	if s.Problem != nil {
		return s.Problem.Message
	}
	return fmt.Sprintf("code %s, modules %s, %d verdicts of %s (limit %s)", term.Size(s.CodeBytes), term.Size(s.ModuleBytes),
		s.Verdicts, term.Size(s.VerdictBytes), term.Size(s.VerdictLimit))
}
