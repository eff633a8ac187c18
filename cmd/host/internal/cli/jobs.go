package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/job"
)

func jobsCommand(a *App) *cobra.Command {
	return noun("jobs", "Look at background jobs, and work on them", `Look at background jobs: what waits, what runs and what has ended. A server works
on them; without one, jobs work does.`,
		jobsListCommand(a), jobsShowCommand(a), jobsCancelCommand(a), jobsWorkCommand(a),
	)
}

func jobsListCommand(a *App) *cobra.Command {
	in := &operation.JobList{}
	c := verb[operation.JobPage]{
		Use: "list", Short: "List jobs, the newest first",
		Long:      "List jobs, the newest first. Ended jobs are listed for at least a day.",
		Example:   "  reflectory jobs list --status queued",
		Operation: "job_list", In: in, Paging: &in.Paging,
		Print: printJobs,
	}.command(a)
	f := c.Flags()
	f.StringVar((*string)(&in.Type), "type", "", "only jobs of this `type`: "+strings.Join(texts(job.Types()), ", "))
	f.StringVar((*string)(&in.Status), "status", "", "only jobs of this `status`: "+strings.Join(texts(job.Statuses()), ", "))
	f.StringVar(&in.UserID, "user", "", "only jobs of this `user`")
	f.StringVar(&in.Namespace, "namespace", "", "only jobs in this namespace")
	f.BoolVar(&in.Subtree, "subtree", false, "with --namespace: look in the namespaces below as well")
	sinceFlag(c, &in.Since, "jobs")
	return c
}

// texts are words of a named kind.
func texts[T ~string](list []T) []string {
	all := make([]string, len(list))
	for i, v := range list {
		all[i] = string(v)
	}
	return all
}

func printJobs(out *output, page *operation.JobPage) error {
	if len(page.Items) == 0 {
		out.term.Line("there are no jobs")
	} else if err := printRows(out, []string{"JOB", "TYPE", "STATUS", "PROGRESS", "USER", "NAMESPACE", "QUEUED", "REASON"}, page.Items, jobRow); err != nil {
		return err
	}
	if page.NoWorker {
		out.term.Line("no_worker: nobody works on jobs")
		out.term.Line("hint: start a server with reflectory serve, or run reflectory jobs work")
	}
	out.hintNext(page.NextPageToken)
	return nil
}

func jobRow(j job.Job) []string {
	return []string{
		j.ID, string(j.Type), string(j.Status), percent(j.Progress), cell(j.UserID), cell(j.Namespace), term.Time(j.QueuedAt), cell(j.Reason),
	}
}

func percent(part float64) string { return fmt.Sprintf("%.0f%%", 100*part) }

func jobsShowCommand(a *App) *cobra.Command {
	in := &operation.JobGet{}
	return verb[job.Job]{
		Use: "show JOB", Short: "Show a job: what it was asked to do, and its result",
		Long:      "Show a job. JOB is a job's id, or at least its first 8 characters.",
		Example:   "  reflectory jobs show 01939f45",
		Operation: "job_get", In: in, Args: []*string{&in.ID},
		Print: printJob,
	}.command(a)
}

func printJob(out *output, j *job.Job) error {
	status := string(j.Status)
	if j.Reason != "" {
		status += " (" + j.Reason + ")"
	}
	rows := [][2]string{
		{"job", j.ID}, {"type", string(j.Type)}, {"status", status}, {"user", j.UserID}, {"namespace", j.Namespace},
		{"progress", percent(j.Progress)}, {"attempts", fmt.Sprint(j.Attempts)}, {"queued", term.Time(j.QueuedAt)},
	}
	if j.NotBefore != nil {
		rows = append(rows, [2]string{"waits", "until " + term.Time(*j.NotBefore)})
	}
	if j.StartedAt != nil {
		rows = append(rows, [2]string{"started", term.Time(*j.StartedAt)})
	}
	if j.CompletedAt != nil {
		rows = append(rows, [2]string{"ended", term.Time(*j.CompletedAt)})
	}
	if j.Failure != nil {
		rows = append(rows, [2]string{"message", j.Failure.Message})
		if hint := hintLine(out.commands, j.Failure.Hint, j.Failure.Try); hint != "" {
			rows = append(rows, [2]string{"hint", hint})
		}
	} else if j.Message != "" {
		rows = append(rows, [2]string{"message", j.Message})
	}
	for _, row := range rows {
		out.lines("          ", "%-9s %s", row[0], term.Lines(row[1]))
	}
	for _, part := range [][2]string{{"asked", string(j.Payload)}, {"result", string(j.Result)}} {
		if part[1] != "" {
			out.lines("          ", "%-9s %s", part[0], out.preview(10, part[1]))
		}
	}
	return nil
}

func jobsCancelCommand(a *App) *cobra.Command {
	in := &operation.JobCancel{}
	return verb[operation.JobCancelled]{
		Use: "cancel JOB", Short: "Cancel a waiting job, or ask a running job to stop",
		Long: `Cancel a waiting job, or ask a running job to stop, which it does soon. What it has done
stays. A job that has ended isn't changed.`,
		Example:   "  reflectory jobs cancel 01939f45",
		Operation: "job_cancel", In: in, Args: []*string{&in.ID},
		Print: func(out *output, done *operation.JobCancelled) error {
			said := "job %s is asked to stop"
			switch {
			case !done.Cancelled && done.Status == job.StatusRunning:
				said = "job %s was asked to stop before"
			case !done.Cancelled:
				said = "job %s has ended: it is " + string(done.Status)
			case done.Status == job.StatusCancelled:
				said = "job %s is cancelled"
			}
			return out.printDone(done, said, done.ID)
		},
	}.command(a)
}
