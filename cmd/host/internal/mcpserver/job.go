package mcpserver

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// Long work is a job. For a client that knows tasks, the job's id is a task; any other
// client gives the id to loop_status.

// taskKept is the minimum time for which a task's job is kept after its end.
const taskKept = 24 * time.Hour

// waits is the message for a job that hasn't begun.
const waits = "it waits in the queue"

// statusMessage describes the progress of a job that hasn't ended.
func statusMessage(r *operation.JobResult) string {
	if r.Status == job.StatusQueued {
		return waits
	}
	return fmt.Sprintf("%.0f %% is done", 100*r.Progress)
}

// queued is the task of a job that was made just now.
func (s *Server) queued(q *operation.JobQueued) *task {
	return &task{
		TaskID: q.JobID, Status: taskWorking, StatusMessage: waits, CreatedAt: q.QueuedAt, LastUpdatedAt: q.QueuedAt,
		TTLMs: taskKept.Milliseconds(),
	}
}

var _ taskSource = (*Server)(nil)

// task implements [taskSource].
func (s *Server) task(ctx context.Context, id string) (*task, error) {
	r, of, err := s.findTask(ctx, id)
	if r == nil || err != nil {
		return nil, err
	}
	t := &task{TaskID: r.JobID, CreatedAt: r.QueuedAt, LastUpdatedAt: r.QueuedAt}
	until := s.config.Now()
	if r.CompletedAt != nil {
		until, t.LastUpdatedAt = *r.CompletedAt, *r.CompletedAt
	} else if r.StartedAt != nil {
		t.LastUpdatedAt = *r.StartedAt
	}
	t.TTLMs = (max(until.Sub(r.QueuedAt), 0) + taskKept).Milliseconds()
	switch r.Status {
	case job.StatusQueued, job.StatusRunning:
		t.Status, t.StatusMessage = taskWorking, statusMessage(r)
	case job.StatusCancelled:
		t.Status, t.StatusMessage = taskCancelled, r.Reason
	case job.StatusFailed:
		t.Status, t.StatusMessage, t.Result = taskCompleted, r.Reason, &taskResult{s.failed(ctx, r)}
	default:
		text, err := of.cut(r.Result, arguments{}, 0)
		if err != nil {
			return nil, err
		}
		t.Status, t.Result = taskCompleted, &taskResult{succeeded(text)}
	}
	return t, nil
}

// cancelTask implements [taskSource].
func (s *Server) cancelTask(ctx context.Context, id string) (bool, error) {
	r, _, err := s.findTask(ctx, id)
	if r == nil || err != nil {
		return false, err
	}
	_, err = s.config.Client.Call(ctx, operation.Call{}, "job_cancel", &operation.JobCancel{ID: id})
	return true, s.taskError(ctx, id, err)
}

// findTask returns a job that one of the tools made, with the tool; nil if there is no such
// job that the caller may see.
func (s *Server) findTask(ctx context.Context, id string) (*operation.JobResult, *tool, error) {
	r, err := client.Do[operation.JobResult](ctx, s.config.Client, operation.Call{}, "job_result", &operation.JobResultGet{ID: id})
	switch sdk.CodeOf(err) {
	case sdk.NotFound, sdk.Invalid, sdk.Denied, sdk.Conflict: // the last one means that a part of an id matches several ids
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, s.taskError(ctx, id, err)
	}
	for _, t := range s.tools {
		for _, o := range t.operations {
			if o.Job != "" && o.Name == r.Operation && r.JobID == id { // a part of an id names no task
				return r, t, nil
			}
		}
	}
	return nil, nil, nil
}

// taskError turns an error of an operation into an error of the protocol.
func (s *Server) taskError(ctx context.Context, id string, err error) error {
	if err == nil {
		return nil
	}
	p := s.problem(ctx, set{}, jsontext.MustEncode(map[string]string{"taskId": id}), err)
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: p.Detail, Data: jsontext.MustEncode(map[string]string{"code": p.Code})}
}

// failed is a tool's result if its job failed: what the tool would have answered if it had
// done the work itself. A job that ended otherwise, such as with its process, has no error.
func (s *Server) failed(ctx context.Context, r *operation.JobResult) *mcp.CallToolResult {
	if r.Failure != nil {
		return s.refused(ctx, set{}, nil, r.Failure.Err(), r.Result)
	}
	text := visible(jsontext.MustEncode(map[string]any{"error": refusal{Code: r.Reason, Message: cmp.Or(r.Message, "the job failed")}}))
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}
}
