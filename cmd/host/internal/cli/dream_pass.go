package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/httpapi"
	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/dream"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// passFlags adds the flags that determine what a pass plans.
func passFlags(c *cobra.Command, in *operation.DreamPass) {
	f, o := c.Flags(), &in.Options
	f.StringVar(&in.Agent, "agent", "", "only memories of this `agent` (REFLECTORY_AGENT sets the agent that acts)")
	f.BoolVar(&in.Full, "full", false, "compare all memories with each other, not just new ones with the rest")
	f.StringVar(&in.Judge, "judge", "", "an evaluator `plugin` that may decide that two similar texts say the same although the guard found a minor difference, such as reflectory/llm-eval")
	f.BoolVar(&o.SkipDates, "skip-dates", false, "leave relative dates as they are")
	f.BoolVar(&o.SkipMerges, "skip-merges", false, "merge nothing")
	f.BoolVar(&o.SkipConflicts, "skip-conflicts", false, "leave contradictions undecided")
	f.BoolVar(&o.SkipArchival, "skip-archival", false, "don't archive stale memories and old notifications")
	f.BoolVar(&o.KeepPhrase, "keep-phrase", false, "keep each relative date, and add the date after it")
	f.BoolVar(&o.Ranges, "ranges", false, "replace last or next week, month or year by its first and last day")
	f.StringVar((*string)(&o.Strategy), "strategy", "", "which of two contradictory memories of low importance is kept: "+strings.Join(texts(dream.Strategies()), ", "))
	f.StringVar((*string)(&o.Stale), "stale", "", "which stale memories are archived: "+strings.Join(texts(dream.Stales()), ", ")+" (default redundant)")
	f.Float64Var(&o.StaleAfterHours, "stale-after", 0, "the age in `hours` after which a memory may be stale (default 168)")
	f.Float64Var(&o.StaleBelow, "stale-below", 0, "the effective `importance` below which it is stale (default 0.2)")
	f.StringVar(&o.Decay, "decay", "", "how importance fades: exponential, linear, step:T or power_law:a")
}

func dreamPlanCommand(a *App) *cobra.Command {
	in := &operation.DreamPlan{}
	var to string
	var c *cobra.Command
	c = verb[memory.DreamRun]{
		Use: "plan NAMESPACE", Short: "Plan a pass, and show what it would change",
		Long: `Plan a pass over a namespace: make dates absolute, merge memories that say the same,
decide contradictions, archive stale memories. No memory is changed. The plan is stored,
and reflectory dream apply applies it. With --to it is also written to a file, for
reflectory dream run --plan FILE.`,
		Example:   "  reflectory dream plan team/mail\n  reflectory dream plan team/mail --full --to plan.json",
		Operation: "dream_plan", In: in, Args: []*string{&in.Namespace},
		Print: func(out *output, run *memory.DreamRun) error {
			d, err := do[operation.DreamShown](c.Context(), a, "dream_show", &operation.DreamShow{ID: run.ID})
			if err != nil {
				return err
			}
			if err := out.printDream(d, 0); err != nil {
				return err
			}
			out.term.Line("apply it: reflectory dream apply %s", run.ID)
			return nil
		},
		End: func(run *memory.DreamRun) error {
			if to == "" {
				return nil
			}
			if err := os.WriteFile(to, append(jsontext.MustEncode(run.Plan), '\n'), 0o600); err != nil {
				return sdk.Errorf(sdk.Unavailable, "file_unwritable", "write the plan to %s: %w", core.Cut(to), err)
			}
			return nil
		},
	}.command(a)
	passFlags(c, &in.DreamPass)
	c.Flags().BoolVar(&in.Options.Force, "force", false, "archive more than a tenth of the namespace")
	c.Flags().StringVar(&to, "to", "", "write the plan to a `file`")
	return c
}

func dreamRunCommand(a *App) *cobra.Command {
	in := &operation.DreamPass{}
	var file string
	var subtree bool
	c := &cobra.Command{
		Use: "run [NAMESPACE]", Short: "Make a pass: plan it, and apply the plan",
		Long: `Make a pass over a namespace. The pass is skipped if the last one began less than 24
hours ago, if fewer than 5 records are new, or if another program's report says that it
has already organised the memories. With --mode always, no pass is skipped; with --mode
force, the pass may also archive more than a tenth of the namespace. An interrupted pass
is finished first. With --plan, the command applies an earlier plan: steps whose
memories have changed since are skipped. reflectory dream undo undoes a pass.`,
		Example: "  reflectory dream run team/mail\n  reflectory dream run --plan plan.json",
		RunE: func(c *cobra.Command, args []string) error {
			if file != "" {
				return a.runDreamPlan(c, file)
			}
			if len(args) == 1 {
				in.Namespace = args[0]
			}
			if subtree {
				return a.runDreamsUnder(c, in)
			}
			report, err := do[memory.DreamReport](c.Context(), a, "dream_run", in)
			if err != nil {
				return err
			}
			return a.out.printDreamReport(in.Namespace, report)
		},
	}
	passFlags(c, in)
	c.Flags().StringVar((*string)(&in.Mode), "mode", "", "whether the pass may be skipped: "+strings.Join(texts(memory.DreamModes()), ", ")+" (default coordinated)")
	c.Flags().StringVar(&file, "plan", "", "apply the plan in a `file`")
	c.Flags().BoolVar(&subtree, "subtree", false, "make a pass over each namespace below as well; with --json, the reports are in items")
	return c
}

// dreamReports are the reports of passes over several namespaces.
type dreamReports struct {
	Items []dreamReportOf `json:"items"`
}

type dreamReportOf struct {
	Namespace string `json:"namespace"`
	*memory.DreamReport
}

// runDreamsUnder makes a pass over a namespace, and over each namespace below it. If a pass
// fails, no further pass begins; what was printed before stays.
func (a *App) runDreamsUnder(c *cobra.Command, in *operation.DreamPass) error {
	namespaces, err := a.namespacesUnder(c, in.Namespace)
	if err != nil {
		return err
	}
	all := dreamReports{Items: []dreamReportOf{}}
	for _, namespace := range namespaces {
		in.Namespace = namespace
		report, err := do[memory.DreamReport](c.Context(), a, "dream_run", in)
		if err != nil {
			return err
		}
		if all.Items = append(all.Items, dreamReportOf{namespace, report}); a.out.json {
			err = a.out.printJSON(all)
		} else {
			err = a.out.printDreamReport(namespace, report)
		}
		if err != nil {
			return err
		}
	}
	if a.out.json {
		return a.out.printJSON(all)
	}
	return nil
}

// namespacesUnder are a namespace and the namespaces below it that hold memories.
func (a *App) namespacesUnder(c *cobra.Command, namespace string) (list []string, err error) {
	all, err := do[operation.Page[memory.NamespaceCount]](c.Context(), a, "memory_namespaces", &operation.MemoryNamespaces{})
	if err != nil {
		return nil, err
	}
	for i := range all.Items {
		if name := all.Items[i].Namespace; name == namespace || strings.HasPrefix(name, namespace+"/") {
			list = append(list, name)
		}
	}
	return list, nil
}

// maxPlanBytes bounds the file of a plan, which has the texts of all memories that it changes.
const maxPlanBytes = 256 << 20

// runDreamPlan applies the plan in a file.
func (a *App) runDreamPlan(c *cobra.Command, file string) error {
	text, err := a.input.read(file, maxPlanBytes)
	if err != nil {
		return err
	}
	in := &operation.DreamPlan{Plan: &dream.Plan{}}
	if err := json.Unmarshal(httpapi.PlainIntegers(text, reflect.TypeOf(in.Plan)), in.Plan); err != nil {
		return sdk.Errorf(sdk.Invalid, "plan_unreadable", "%s is no plan: %w", core.Cut(file), err).WithHint("plan again with --to")
	}
	run, err := do[memory.DreamRun](c.Context(), a, "dream_plan", in)
	if err != nil {
		return err
	}
	report, err := do[memory.DreamReport](c.Context(), a, "dream_apply", &operation.DreamApply{ID: run.ID})
	if err != nil {
		return err
	}
	return a.out.printDreamReport(run.Namespace, report)
}

func dreamApplyCommand(a *App) *cobra.Command {
	in := &operation.DreamApply{}
	return verb[memory.DreamReport]{
		Use: "apply PLAN", Short: "Apply a plan, or continue an interrupted run",
		Long:      "Apply a plan: each step is done as it was shown, or skipped if its memories have\nchanged since. PLAN is its id, or at least the first 8 characters.",
		Example:   "  reflectory dream apply 01939f35",
		Operation: "dream_apply", In: in, Args: []*string{&in.ID},
		Print: func(out *output, report *memory.DreamReport) error {
			return out.printDreamReport("", report)
		},
	}.command(a)
}

func (out *output) printDreamReport(namespace string, r *memory.DreamReport) error {
	if out.json {
		return out.printJSON(r)
	}
	if r.Skipped != "" {
		out.term.Line("%s was skipped: %s", term.Clean(namespace), strings.ReplaceAll(r.Skipped, "_", " "))
		return nil
	}
	out.term.Line("run %s looked at %s: %d dated, %d merged, %s decided and %d open, %d archived, %s skipped",
		r.RunID, plural(int(r.TotalScanned), "memory", "memories"), r.AbsolutizedDates, r.Consolidated,
		plural(int(r.ConflictsResolved), "contradiction", "contradictions"), r.ConflictsOpen, r.Archived, plural(int(r.StepsSkipped), "step", "steps"))
	if len(r.MergeRefusals) > 0 {
		out.term.Line("pairs that look the same and differ in: %s", term.Clean(countsOf(r.MergeRefusals)))
	}
	return nil
}

// countsOf lists how many there are of each name, sorted.
func countsOf(counts map[string]int64) string {
	var list []string
	for name, n := range counts {
		list = append(list, fmt.Sprintf("%s %d", name, n))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func dreamListCommand(a *App) *cobra.Command {
	in := &operation.DreamList{}
	c := verb[operation.Page[*memory.DreamRun]]{
		Use: "list NAMESPACE", Short: "List the plans and runs of a namespace, the newest first",
		Long:      "List the plans and runs of a namespace, the newest first. Runs can be undone for 30 days.",
		Example:   "  reflectory dream list team/mail",
		Operation: "dream_list", In: in, Paging: &in.Paging, Args: []*string{&in.Namespace},
		Print: func(out *output, page *operation.Page[*memory.DreamRun]) error {
			none := "there was no pass over " + term.Clean(in.Namespace)
			return printTable(out, page, none, []string{"RUN", "STATUS", "MODE", "STEPS", "PLANNED", "AGENT"}, func(d *memory.DreamRun) []string {
				return []string{d.ID, d.Status, d.Mode, fmt.Sprint(d.Steps), term.Time(d.PlannedAt), cell(d.Agent)}
			})
		},
	}.command(a)
	sinceFlag(c, &in.Since, "plans and runs")
	return c
}

func dreamShowCommand(a *App) *cobra.Command {
	in := &operation.DreamShow{}
	c := verb[operation.DreamShown]{
		Use: "show PLAN", Short: "Show a plan or run: what its steps change",
		Long:      "Show a plan or run as a diff of the memories, 200 steps at a time. PLAN is its id, or at\nleast the first 8 characters.",
		Example:   "  reflectory dream show 01939f35",
		Operation: "dream_show", In: in, Args: []*string{&in.ID},
		Print: func(out *output, d *operation.DreamShown) error {
			return out.printDream(d, in.From)
		},
	}.command(a)
	c.Flags().IntVar(&in.From, "from", 0, "show the texts from this `step` on")
	return c
}

func (out *output) printDream(d *operation.DreamShown, from int) error {
	done := map[int]string{}
	for _, s := range d.Done {
		done[s.N] = "  " + s.Status
	}
	titles, texts := map[string]string{}, map[int]*memory.DreamText{}
	for i := range d.Texts {
		t := &d.Texts[i]
		titles[t.MemoryID] = t.Title
		if t.Before != "" {
			texts[t.Step] = t
		}
	}
	if err := out.say("%s  %s  %s, %s not merged, %s open", d.ID, d.Status, plural(d.Steps, "step", "steps"),
		plural(len(d.Plan.Refusals), "pair", "pairs"), plural(len(d.Plan.Conflicts), "contradiction", "contradictions")); err != nil {
		return err
	}
	for i := range d.Plan.Steps {
		s := &d.Plan.Steps[i]
		if s.N < from {
			continue
		}
		if err := out.say("\n@@ %d  %s  %s%s", s.N, s.Kind, oneLine(s.Reason), done[s.N]); err != nil {
			return err
		}
		if err := out.printDreamStep(s, titles, texts[s.N]); err != nil {
			return err
		}
	}
	classes := map[string]int64{}
	for _, r := range d.Plan.Refusals {
		classes[r.Class]++
	}
	if len(classes) > 0 {
		if err := out.say("\nnot merged, since they differ in: %s; --json has the pairs", term.Clean(countsOf(classes))); err != nil {
			return err
		}
	}
	if len(d.Plan.Conflicts) > 0 {
		return out.say("\n%s open: reflectory dream conflicts %s shows the texts", plural(len(d.Plan.Conflicts), "contradiction", "contradictions"), shellWord(d.Namespace))
	}
	return nil
}

// printDreamStep prints a step as a diff.
func (out *output) printDreamStep(s *dream.Step, titles map[string]string, text *memory.DreamText) error {
	for _, read := range s.Reads {
		if err := out.say("   %s  %s", read.MemoryID, oneLine(titles[read.MemoryID])); err != nil {
			return err
		}
	}
	if text != nil {
		for mark, content := range []string{text.Before, text.After} {
			for _, line := range strings.Split(content, "\n") {
				if err := out.say("%c  %s", "-+"[mark], term.Clean(line)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for _, change := range s.Changes {
		if change.Field == "tags" {
			continue // a plan has only their digests
		}
		if err := out.say("-  %s: %s\n+  %s: %s", change.Field, oneLine(change.Before), change.Field, oneLine(change.After)); err != nil {
			return err
		}
	}
	return nil
}

func dreamUndoCommand(a *App) *cobra.Command {
	in := &operation.DreamUndo{}
	c := verb[memory.DreamUndone]{
		Use: "undo RUN", Short: "Undo a run, or one step of it",
		Long: `Undo the steps of a run, the last first, or with --step one of them: texts, tags,
counts, importance, links and states are again as they were. A step whose memories have
changed since is refused. The next pass doesn't repeat what was undone. Runs can be
undone for 30 days.`,
		Example:   "  reflectory dream undo 01939f32 --step 3\n  reflectory dream undo 01939f32",
		Operation: "dream_undo", In: in, Args: []*string{&in.ID},
		Print: func(out *output, u *memory.DreamUndone) error {
			out.term.Line("took back %s, %d refused", plural(len(u.Undone), "step", "steps"), len(u.Refused))
			for _, r := range u.Refused {
				out.term.Line("step %d: %s %s", r.Step, r.Reason, r.MemoryID)
			}
			return nil
		},
	}.command(a)
	c.Flags().IntVar(&in.Step, "step", 0, "undo only this `step`")
	return c
}

func dreamConflictsCommand(a *App) *cobra.Command {
	in := &operation.DreamConflicts{}
	c := verb[operation.Page[operation.DreamConflict]]{
		Use: "conflicts NAMESPACE", Short: "List memories that contradict each other",
		Long: `List the pairs of memories of a namespace that contradict each other. A pass decides the
pairs of low importance; people decide the others. For example, link the right memory to
the wrong one with the relation supersedes: recall then leaves out the wrong one.`,
		Example:   "  reflectory dream conflicts team/mail",
		Operation: "dream_conflicts", In: in, Paging: &in.Paging, Args: []*string{&in.Namespace},
		Print: func(out *output, page *operation.Page[operation.DreamConflict]) error {
			none := fmt.Sprintf("no memories of %s contradict each other", term.Clean(in.Namespace))
			return printTable(out, page, none, []string{"DIFFERS IN", "NEWER", "TITLE", "OLDER", "TITLE"}, func(p operation.DreamConflict) []string {
				return []string{p.Class, p.Newer, cell(p.NewerTitle), p.Older, cell(p.OlderTitle)}
			})
		},
	}.command(a)
	c.Flags().StringVar(&in.Agent, "agent", "", "only memories of this `agent` (REFLECTORY_AGENT sets the agent that acts)")
	return c
}
