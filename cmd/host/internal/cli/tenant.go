package cli

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

func tenantCommand(a *App) *cobra.Command {
	return noun("tenant", "List the tenants with databases of their own, and move one to another database", `List the tenants with databases of their own (--stores), and move one to another
database. A tenant is the first segment of a namespace or, below users, the first two.`,
		tenantListCommand(a), tenantMoveCommand(a),
	)
}

// tenantList is what tenant list prints.
type tenantList struct {
	Items []host.TenantItem `json:"items"`
}

func tenantListCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the tenants that have, or had, databases of their own",
		Long: `List the tenants that have, or had, a database of their own: the database of each, by
its id if --stores doesn't name it, how often a move of the tenant was started, and the
state of an unfinished move.`,
		Example: "  reflectory tenant list",
		RunE: func(c *cobra.Command, _ []string) error {
			h, err := a.openHost(c.Context())
			if err != nil {
				return err
			}
			items, err := h.Tenants.List(c.Context())
			if err != nil {
				return err
			}
			if a.out.json {
				return a.out.printJSON(tenantList{items})
			}
			if len(items) == 0 {
				a.out.term.Line("no tenant has a database of its own")
				return nil
			}
			rows := make([][]string, len(items))
			for i, t := range items {
				at := t.Database
				if at == "" {
					at = "database " + t.DatabaseID
				}
				rows[i] = []string{t.Tenant, at, strconv.Itoa(t.Moves), cell(t.State)}
			}
			return a.out.table([]string{"TENANT", "DATABASE", "MOVES", "STATE"}, rows)
		},
	}
}

func tenantMoveCommand(a *App) *cobra.Command {
	other := ""
	c := &cobra.Command{
		Use: "move TENANT", Short: "Move a tenant to the database that --stores gives it",
		Long: `Move a tenant to the database that --stores gives it. First write the new database into
that file, then move the tenant, then start all servers with the file. The tenant must
have no unfinished runs or jobs. During the move, its writes are refused
(tenant_moving); other tenants aren't affected. If the command is killed, repeat it. To
give up the move, write the old database into the file again, and repeat the command.
Ended jobs and decisions of policies aren't moved.
--other names a database of the move that the file doesn't name: the old database, if
only this tenant was in it, or the target of a move that you give up.`,
		Example: "  reflectory tenant move team --stores stores.yaml\n" +
			"  reflectory tenant move team --stores stores.yaml --other postgres://app@db2.example.org/team",
		RunE: func(c *cobra.Command, args []string) error {
			a.Base.OtherDatabase = other
			h, err := a.openHost(c.Context())
			if err != nil {
				return err
			}
			defer a.out.term.Clear()
			show := a.moving("moving", 0)
			done, err := h.Tenants.Move(c.Context(), args[0], func(w store.Work) {
				show(operation.Progress{Doing: string(w.Doing), What: "records", Done: w.Records, Total: w.Total, Bytes: w.Bytes})
			})
			if sdk.ReasonOf(err) == "tenant_database_missing" {
				err = sdk.AsError(err).WithHint("name it with --other: it is where the tenant is, or where an earlier move began to take it")
			}
			if err != nil {
				return err
			}
			return printTenantMove(a.out, done, h.Databases.Of(args[0]).Databases.Name())
		},
	}
	c.Flags().StringVar(&other, "other", "", "`database` of the move that --stores doesn't name")
	return c
}

func printTenantMove(out *output, done *store.TenantMove, where string) error {
	if out.json {
		return out.printJSON(done)
	}
	switch {
	case done.Moved:
		out.term.Line("tenant %s is in %s: %s were moved", done.Tenant, where, plural(done.Records, "record", "records"))
		out.term.Line("start all servers with the same --stores: until then they refuse its requests (tenant_elsewhere)")
	case done.GivenUp:
		out.term.Line("the move is given up: tenant %s is in %s, as before", done.Tenant, where)
	default:
		out.term.Line("tenant %s is in %s already", done.Tenant, where)
	}
	if len(done.RetainedIn) > 0 {
		out.term.Line("the old database keeps what was deleted until it recycles it: %s", strings.Join(done.RetainedIn, ", "))
	}
	if done.Held != "" {
		out.term.Line("%s", out.term.Bad("what was deleted is still held by "+done.Held))
	}
	return nil
}
