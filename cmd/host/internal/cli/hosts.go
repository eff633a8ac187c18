package cli

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/core/host/operation"
)

func hostsCommand(a *App) *cobra.Command {
	c := &cobra.Command{
		Use: "hosts", Short: "List and drain the servers on a database",
		Long: `List the servers that share a database (--store), and drain one before it is stopped.
On the store of a data folder there is one server at most.`,
		RunE: needsCommand,
	}
	c.AddCommand(hostsListCommand(a), hostsDrainCommand(a))
	return c
}

func hostsListCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the servers and what each has",
		Long: `List the servers that work on the store: whether each lives, as the server that is asked
sees it, the packages that it lacks (plugin push), the leases that it holds, and how many
runs and jobs it works on. A server that is gone is listed while something of it is left
that no other could go on with. A command that asks no server doesn't know which of them
live.`,
		Example: "  reflectory hosts list",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			list, err := do[operation.Hosts](c.Context(), a, "host_list", &operation.HostList{})
			if err != nil {
				return err
			}
			if a.out.json {
				return a.out.printJSON(list)
			}
			if len(list.Items) == 0 {
				a.out.term.Line("there are no servers")
				return nil
			}
			rows := make([][]string, len(list.Items))
			for i := range list.Items {
				rows[i] = hostRow(&list.Items[i])
			}
			return a.out.table([]string{"HOST", "STATE", "ADDRESS", "VERSION", "LEASES", "RUNS", "JOBS"}, rows)
		},
	}
}

func hostRow(h *operation.HostItem) []string {
	state := string(h.State)
	if h.Draining {
		state += ", draining"
	}
	if len(h.Lacking) > 0 {
		state += ", lacks " + strings.Join(h.Lacking, ", ")
	}
	leases := slices.Sorted(maps.Keys(h.Leases))
	return []string{
		h.ID, state, cell(h.Address), cell(h.Version), cell(strings.Join(leases, " ")), strconv.Itoa(len(h.Runs)), strconv.Itoa(len(h.Jobs)),
	}
}

func hostsDrainCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "drain HOST", Short: "Have a server take on nothing more",
		Long: `Have a server take on nothing more: it gives up its leases, its jobs end within their
grace or go back to the queue, where other servers take them, and /readyz says that it
isn't ready. Its runs and requests go on until it is stopped, and so does it. It takes on
work again with its next start.`,
		Example: "  reflectory hosts drain 0193a1f2-7c3e-7d52-9b1a-6f0c2d4e8a91",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			h, err := do[operation.HostItem](c.Context(), a, "host_drain", &operation.HostDrain{ID: args[0]})
			if err != nil {
				return err
			}
			return a.out.printResult(h, "host %s takes on nothing more", h.ID)
		},
	}
}
