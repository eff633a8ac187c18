package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/sdk"
)

func reflectCommand(a *App) *cobra.Command {
	in := &operation.ReflectionEnqueue{}
	wait := false
	c := &cobra.Command{
		Use: "reflect", Short: "Derive insights from observations, in the background",
		Long: `Derive insights from what was observed since the last time, in the background: a job
asks questions of the memories, and stores the answers with their sources. A job is
queued if a reflection is due (see reflection.importance, reflection.observations and
reflection.hours in the namespace's governance), or with --force, at most 3 times an
hour. A server works on the job; without a server, --wait or jobs work does. The model
in settings.llm derives the insights, or the plugin or script in settings.reflection:
see config show. To store what you concluded yourself, use reflectory memory reflect.
The exit code is 0 even if nothing is due or a reflection is already
running. It is 1 if reflections are forced too often, the queue is full, or the
reflection fails while --wait waits.`,
		Example: `  reflectory reflect --user anna
  reflectory reflect --namespace team/mail --wait --focus "what customers ask for"`,
		RunE: func(c *cobra.Command, _ []string) error {
			if in.UserID == "" {
				in.Namespace = a.orConfigured(c, in.Namespace)
			}
			return a.reflect(c.Context(), in, wait)
		},
	}
	f := c.Flags()
	f.StringVar(&in.UserID, "user", "", "reflect for this user: the namespace is then users/`USER`")
	f.StringVar(&in.Namespace, "namespace", "", "what to reflect on (default: the user's, else the configured one; see config show)")
	f.StringVar(&in.Focus, "focus", "", "what to focus on, as a `text` of up to 500 characters")
	f.IntVar(&in.MaxInsights, "max-insights", 5, "how many insights and procedures are stored at most, 1 to 50")
	f.BoolVar(&in.Force, "force", false, "reflect even if no reflection is due")
	f.BoolVar(&in.DryRun, "dry-run", false, "derive insights, but store nothing")
	f.BoolVar(&wait, "wait", false, "wait until the reflection ends; if no server works on it, this command does")
	return c
}

// reflect queues a reflection, and waits for its end if wait is set.
func (a *App) reflect(ctx context.Context, in *operation.ReflectionEnqueue, wait bool) error {
	answer, err := do[operation.ReflectionEnqueued](ctx, a, "reflection_enqueue", in)
	if err != nil {
		return err
	}
	if wait && answer.Status == string(job.StatusQueued) {
		return a.awaitReflection(ctx, answer.JobID)
	}
	var takes time.Duration
	if answer.ETASeconds != nil {
		takes = time.Duration(*answer.ETASeconds) * time.Second
	}
	said := map[string]string{
		operation.ReflectionRunning:      "reflection " + answer.JobID + " runs already",
		operation.ReflectionNotTriggered: "nothing is due: " + answer.Reason,
		operation.ReflectionRateLimited:  "too many forced reflections: try again in " + (time.Duration(answer.RetryAfterSeconds) * time.Second).String(),
		string(job.StatusQueued):         "reflection " + answer.JobID + " is queued, and takes about " + takes.String(),
	}[answer.Status]
	if err := a.out.printDone(answer, "%s", said); err != nil {
		return err
	}
	if answer.Status == operation.ReflectionRateLimited {
		return statusError{exitFailure}
	}
	return nil
}

// reflectionPoll is how often a server is asked for a reflection's progress.
const reflectionPoll = 300 * time.Millisecond

// awaitReflection waits for the end of a reflection. If no server works on it, this command
// does; but if servers share the store, a server has to do it.
func (a *App) awaitReflection(ctx context.Context, id string) error {
	a.out.term.Status("reflecting …")
	defer a.out.term.Clear()
	there := a.remote()
	if !there {
		var err error
		if there, err = client.Serves(ctx, a.config.DataDir.Value); err != nil {
			return err
		}
	}
	if a.host != nil || !there {
		h, err := a.openHost(ctx)
		if err != nil {
			return err
		}
		if err := workOn(ctx, h, id); err != nil {
			return err
		}
	}
	tick := time.NewTicker(reflectionPoll)
	defer tick.Stop()
	for {
		p, err := do[operation.ReflectionProgress](ctx, a, "reflection_status", &operation.ReflectionStatus{JobID: id})
		if err != nil {
			return err
		}
		if p.Progress == nil {
			return a.printReflection(ctx, p)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// workOn works on a job to its end. If servers share the store, only they may do this, and
// it is an error if no server works on jobs.
func workOn(ctx context.Context, h *host.Host, id string) error {
	pool, err := h.Workers.CommandPool(operation.Handlers(h))
	if sdk.ReasonOf(err) == host.JobsOfServers {
		working, unknown := h.Jobs.Working(ctx)
		if unknown != nil || working {
			return unknown
		}
		return sdk.Wrap("job "+id+" waits", err)
	}
	if err != nil {
		return err
	}
	_, err = pool.RunJob(ctx, id)
	return err
}

// printReflection prints the result of a reflection.
func (a *App) printReflection(ctx context.Context, p *operation.ReflectionProgress) error {
	a.out.term.Clear()
	var failed error
	if p.InsightsCreated == nil {
		failed = statusError{exitFailure}
	}
	if a.out.json {
		if err := a.out.printJSON(p); err != nil {
			return err
		}
		return failed
	}
	if failed != nil {
		why, hint := p.Reason, ""
		if j, err := do[job.Job](ctx, a, "job_get", &operation.JobGet{ID: p.JobID}); err == nil && j.Failure != nil {
			why += ": " + j.Failure.Message
			hint = hintLine(a.out.commands, j.Failure.Hint, j.Failure.Try)
		} else if err == nil && j.Message != "" {
			why += ": " + j.Message
		}
		a.out.term.Line("reflection %s %s: %s", p.JobID, p.Status, term.Clean(why))
		if hint != "" {
			a.out.term.Line("hint: %s", term.Clean(hint))
		}
		return failed
	}
	if p.Skipped != "" {
		a.out.term.Line("nothing to do: %s", p.Skipped)
		return nil
	}
	for _, i := range p.Insights {
		a.out.lines("  ", "%s", strings.Join(strings.Fields(term.Lines(i.Content)), " "))
	}
	for _, proc := range p.Procedures {
		a.out.lines("  ", "%s: %s", term.Clean(proc.Title), term.Clean(strings.Join(proc.Steps, "; ")))
	}
	done := "stored"
	if p.DryRun {
		done = "made, and nothing stored,"
	}
	a.out.term.Line("%s and %s %s from %s", plural(*p.InsightsCreated, "insight", "insights"), plural(*p.ProceduresCreated, "procedure", "procedures"),
		done, plural(*p.MemoriesAnalyzed, "memory", "memories"))
	return nil
}
