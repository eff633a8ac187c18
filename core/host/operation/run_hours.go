package operation

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/sdk"
)

// RunHours selects what [RunHistoryOf] counts.
type RunHours struct {
	// Namespace is where the runs are; "" is every namespace that the caller reaches. Subtree includes
	// the namespaces below.
	Namespace string
	Subtree   bool
	// Since is the beginning of the first bucket, Bucket the length of each bucket in whole hours, and
	// Buckets their number, up to [MaxBuckets].
	Since   time.Time
	Bucket  time.Duration
	Buckets int
}

// MaxBuckets is how many buckets a history has at most: a month of hours.
const MaxBuckets = 31 * 24

// RunHistory is how the runs that began in a period ended.
type RunHistory struct {
	// All counts all of them, and Buckets the runs that began in each bucket.
	All     run.Counts
	Buckets []run.Counts
	// Workflows are the counts of each workflow; the workflow with the most runs is first.
	Workflows []WorkflowHistory
	// Turns counts the turns that agents began in the period, without any run, and that had their
	// feedback; TurnBuckets are the turns that began in each bucket. See [run.Counts].
	Turns       run.Counts
	TurnBuckets []run.Counts
}

// WorkflowHistory is how the runs of a workflow ended.
type WorkflowHistory struct {
	Workflow string
	run.Counts
}

// RunHistoryOf counts how runs ended, from the counts by the hour, for a caller that may list runs.
// Its errors are the same as run_list's. It isn't an operation of the table; a surface uses it for
// charts of many runs.
func RunHistoryOf(ctx context.Context, c Call, in *RunHours) (*RunHistory, error) {
	if in.Bucket < time.Hour || in.Bucket%time.Hour != 0 || in.Buckets < 1 || in.Buckets > MaxBuckets {
		return nil, sdk.Errorf(sdk.Internal, "buckets_invalid", "%d buckets of %s", in.Buckets, in.Bucket)
	}
	list, err := Find("run_list")
	if err != nil {
		return nil, err
	}
	if err := c.Host.Ready(ctx); err != nil {
		return nil, err
	}
	caller, request := core.CallerOf(ctx), &RunList{Namespace: in.Namespace, Subtree: in.Subtree}
	if err := list.Allow(ctx, c, request); err != nil {
		return nil, err
	}
	c.caller, c.operation = caller, &list
	calls, err := c.spread(ctx, &list, request)
	if err != nil {
		return nil, err
	}
	reaches := func(namespace string) bool {
		namespace = cmp.Or(namespace, config.DefaultNamespace)
		return within(namespace, in.Namespace, in.Subtree) && caller.Reaches(namespace)
	}
	history := &RunHistory{Buckets: make([]run.Counts, in.Buckets), TurnBuckets: make([]run.Counts, in.Buckets)}
	workflows := map[string]*run.Counts{}
	until := in.Since.Add(in.Bucket*time.Duration(in.Buckets) - 1)
	count := func(h *run.HourCounts) {
		at := int(h.Hour.Sub(in.Since) / in.Bucket)
		if h.Hour.Before(in.Since) || at >= in.Buckets {
			return // the first hour may begin before
		}
		if h.Workflow == core.AgentTurns {
			history.Turns.Add(&h.Counts)
			history.TurnBuckets[at].Add(&h.Counts)
			return
		}
		if workflows[h.Workflow] == nil {
			workflows[h.Workflow] = &run.Counts{}
		}
		for _, sum := range []*run.Counts{&history.All, &history.Buckets[at], workflows[h.Workflow]} {
			sum.Add(&h.Counts)
		}
	}
	for _, own := range calls {
		if err := own.Host.Runs.Hours(ctx, in.Since, until, reaches, count); err != nil {
			return nil, sdk.Wrap("count the runs", err)
		}
	}
	for name, counts := range workflows {
		history.Workflows = append(history.Workflows, WorkflowHistory{name, *counts})
	}
	slices.SortFunc(history.Workflows, func(a, b WorkflowHistory) int {
		return cmp.Or(cmp.Compare(b.Ended(), a.Ended()), cmp.Compare(a.Workflow, b.Workflow))
	})
	return history, nil
}
