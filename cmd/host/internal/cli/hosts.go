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
		Use: "hosts", Short: "List and drain the servers that share a database",
		Long: `List the servers that share a database (--store), and drain one before it is stopped.
The store of a data folder has at most one server.`,
		RunE: needsCommand,
	}
	c.AddCommand(hostsListCommand(a), hostsDrainCommand(a))
	return c
}

func hostsListCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the servers, with their leases, runs and jobs",
		Long: `List the servers that work on the store: the state of each, the packages that it lacks
(see plugin push), the leases that it holds, and how many runs and jobs it works on. The
state is live or gone, as seen by the server that answers; without a server, it is
unknown. A server that is gone stays listed until others have taken over all its work.`,
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
		Use: "drain HOST", Short: "Keep a server from taking on new work",
		Long: `Keep a server from taking on new work: it gives up its leases, its jobs end within their
grace period or go back to the queue for other servers, and /readyz reports that it
isn't ready. The server stays up, and its runs and requests continue, until it is
stopped. After its next start it takes on work again.`,
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
