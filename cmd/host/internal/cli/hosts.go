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
	return noun("hosts", "List and drain the servers that share a database", `List the servers that share a database (--store), and drain one before it is stopped.
The store of a data folder has at most one server.`,
		hostsListCommand(a), hostsDrainCommand(a),
	)
}

func hostsListCommand(a *App) *cobra.Command {
	return verb[operation.Hosts]{
		Use: "list", Short: "List the servers, with their leases, runs and jobs",
		Long: `List the servers that work on the store: the state of each, the packages that it lacks
(see plugin push), the leases that it holds, and how many runs and jobs it works on. The
state is live or gone, as seen by the server that answers; without a server, it is
unknown. A server that is gone stays listed until others have taken over all its work.`,
		Example:   "  reflectory hosts list",
		Operation: "host_list", In: &operation.HostList{},
		Print: func(out *output, list *operation.Hosts) error {
			if len(list.Items) == 0 {
				out.term.Line("there are no servers")
				return nil
			}
			return printRows(out, []string{"HOST", "STATE", "ADDRESS", "VERSION", "LEASES", "RUNS", "JOBS"}, list.Items, hostRow)
		},
	}.command(a)
}

func hostRow(h operation.HostItem) []string {
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
	in := &operation.HostDrain{}
	return verb[operation.HostItem]{
		Use: "drain HOST", Short: "Keep a server from taking on new work",
		Long: `Keep a server from taking on new work: it gives up its leases, its jobs end within their
grace period or go back to the queue for other servers, and /readyz reports that it
isn't ready. The server stays up, and its runs and requests continue, until it is
stopped. After its next start it takes on work again.`,
		Example:   "  reflectory hosts drain 0193a1f2-7c3e-7d52-9b1a-6f0c2d4e8a91",
		Operation: "host_drain", In: in, Args: []*string{&in.ID},
		Print: func(out *output, h *operation.HostItem) error {
			return out.say("host %s takes on nothing more", h.ID)
		},
	}.command(a)
}
