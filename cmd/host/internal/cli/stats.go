package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/host/operation"
)

func statsCommand(a *App) *cobra.Command {
	in := &operation.StatsGet{}
	c := verb[operation.Stats]{
		Use: "stats", Short: "Count memories, reflections, plugins and the store",
		Long: `Count what there is: memories by state and kind, reflections and when the next one is
due, plugins, and the bytes of the store. When a reflection is due depends on the
namespace: the one in --user or --namespace, else the configured one.`,
		Example:   "  reflectory stats\n  reflectory stats --scope reflection --user anna",
		Operation: "stats", In: in,
		Print: func(out *output, s *operation.Stats) error {
			return out.table([]string{"PART", "WHAT", "VALUE"}, statsRows(s))
		},
	}.command(a)
	f := c.Flags()
	f.StringVar((*string)(&in.Scope), "scope", "", "only this `part`: "+strings.Join(texts(operation.StatsScopes()), ", "))
	f.StringVar(&in.UserID, "user", "", "only the reflections of this `user`, and the memories of users/USER")
	f.StringVar(&in.Namespace, "namespace", "", "only in this namespace")
	f.BoolVar(&in.Subtree, "subtree", false, "with --namespace: count in the namespaces below as well")
	return c
}

func statsRows(s *operation.Stats) (rows [][]string) {
	add := func(part, what string, value any) { rows = append(rows, []string{part, what, cell(fmt.Sprint(value))}) }
	if m := s.Memory; m != nil {
		add("memory", "memories", m.Memories)
		add("memory", "namespaces", m.Namespaces)
		for _, state := range slices.Sorted(maps.Keys(m.States)) {
			add("memory", "state "+string(state), m.States[state])
		}
		purged := fmt.Sprint(m.Purged)
		if m.PurgedMore {
			purged += " or more"
		}
		add("memory", "purged", purged)
		for _, kind := range slices.Sorted(maps.Keys(m.Kinds)) {
			add("memory", "kind "+string(kind), m.Kinds[kind])
		}
	}
	if r := s.Reflection; r != nil {
		add("reflection", "jobs that wait", r.PendingJobs)
		add("reflection", "jobs that run", r.RunningJobs)
		if last := r.LastCompletedJob; last != nil {
			add("reflection", "last", fmt.Sprintf("%s at %s, insights %d", last.JobID, term.Time(*last.CompletedAt), last.InsightsCreated))
		}
		if t := r.Triggers; t != nil {
			add("reflection", "next in "+cell(t.Namespace), t.Reason)
			if t.RestUntil != nil {
				add("reflection", "rests until", term.Time(*t.RestUntil))
			}
		}
	}
	if p := s.Plugins; p != nil {
		add("plugins", "installed", p.Installed)
		add("plugins", "ready", p.Ready)
	}
	if st := s.Store; st != nil {
		add("store", "bytes", st.Bytes)
		add("store", "durability", st.Durability)
	}
	return rows
}
