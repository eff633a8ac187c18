package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/sdk"
)

// poolTime is how long a pool has to stop: the time for its jobs to end, and then for their
// handlers to return.
const poolTime = 12 * time.Second

// stopPool ends the work on jobs. Jobs that haven't ended go back to the queue. For nil it
// does nothing.
func stopPool(p *job.Pool) error {
	if p == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), poolTime) // the command's own context has ended
	defer cancel()
	return p.Stop(ctx)
}

// waitingJobs describes the jobs that are left in the queue.
type waitingJobs struct {
	// Queued is how many jobs still wait, and Next when the first postponed job may run.
	Queued int        `json:"queued"`
	Next   *time.Time `json:"next,omitempty"`
}

func jobsWorkCommand(a *App) *cobra.Command {
	var untilIdle bool
	c := &cobra.Command{
		Use: "work", Short: "Work on jobs in the foreground",
		Long: `Work on jobs in the foreground until you stop the program. Running jobs then have 10
seconds to end before they go back to the queue. With --until-idle, the program ends
when no job is ready to run; jobs that wait for a later retry stay in the queue. A
server works on jobs by itself, so the command is refused while one runs. On a database
that servers share (--store), only servers work on jobs.`,
		Example: "  reflectory jobs work --until-idle",
		RunE:    func(c *cobra.Command, _ []string) error { return a.workOnJobs(c.Context(), untilIdle) },
	}
	c.Flags().BoolVar(&untilIdle, "until-idle", false, "end when no job is ready to run")
	return c
}

// workOnJobs works on jobs until the context ends, or nothing may run any more.
func (a *App) workOnJobs(ctx context.Context, untilIdle bool) (err error) {
	if there, err := client.Serves(ctx, a.config.DataDir.Value); err != nil || there {
		if err == nil {
			err = sdk.Errorf(sdk.Conflict, "server_works", "the server on %s works on its jobs", a.config.DataDir.Value).
				WithHint("look at them").WithAction("jobs list")
		}
		return err
	}
	h, err := a.openHost(ctx)
	if err != nil {
		return err
	}
	pool, err := h.Workers.CommandPool(operation.Handlers(h))
	if err != nil {
		return err
	}
	if err := h.Ready(ctx); err != nil {
		return err
	}
	if untilIdle {
		a.out.term.Status("working on jobs …")
		left, err := pool.RunUntilIdle(ctx)
		a.out.term.Clear()
		if err != nil {
			return err
		}
		return a.out.printWorked(left)
	}
	if err := pool.Start(ctx); err != nil {
		return err
	}
	defer func() { err = core.JoinErrors(err, stopPool(pool)) }()
	a.out.term.Line("working on jobs")
	<-ctx.Done()
	a.out.term.Line("stopping: jobs have 10 seconds to end")
	return nil
}

func (out *output) printWorked(left job.Idle) error {
	w := waitingJobs{Queued: left.Queued}
	said := "nothing waits"
	if left.Queued > 0 {
		said = plural(left.Queued, "job waits", "jobs wait") + " still"
	}
	if !left.Next.IsZero() {
		w.Next = &left.Next
		said += ", the next until " + term.Time(left.Next)
	}
	return out.printDone(w, "%s", said)
}
