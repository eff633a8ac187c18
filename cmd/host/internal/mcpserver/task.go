package mcpserver

import (
	"context"
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reflectory/reflectory/core/jsontext"
)

// A call that may take as long as a model becomes a task, if the client knows the protocol's
// extension for tasks (SEP-2663): the answer has the task's id, and the client asks for the task
// until it has its result. The library doesn't know the extension. But a server can add methods and
// change the answer to a call, and this file uses both. The source of tasks decides what a task is;
// see job.go for ours.

// tasksExtension is the name of the extension.
const tasksExtension = "io.modelcontextprotocol/tasks"

// The methods of the extension.
const (
	methodTaskGet    = "tasks/get"
	methodTaskUpdate = "tasks/update"
	methodTaskCancel = "tasks/cancel"
)

// taskPoll is how often a client should ask for a task.
const taskPoll = time.Second

// The statuses of tasks. A task whose tool refused is completed, with the refusal as its
// result.
const (
	taskWorking   = "working"
	taskCompleted = "completed"
	taskFailed    = "failed" // with an error of the protocol; none of our tools ends in this way
	taskCancelled = "cancelled"
)

// task is a task in the extension's form.
type task struct {
	mcp.ResultBase
	// ResultType is "task" in the answer to a call, otherwise "complete".
	ResultType    string    `json:"resultType"`
	TaskID        string    `json:"taskId"`
	Status        string    `json:"status"`
	StatusMessage string    `json:"statusMessage,omitempty"`
	CreatedAt     time.Time `json:"createdAt"`
	LastUpdatedAt time.Time `json:"lastUpdatedAt"`
	// TTLMs is the minimum time for which it is kept, from CreatedAt.
	TTLMs          int64 `json:"ttlMs"`
	PollIntervalMs int64 `json:"pollIntervalMs"`
	// Result is the tool's result, if the task is completed; Error is set if it failed.
	Result *taskResult    `json:"result,omitempty"`
	Error  *jsonrpc.Error `json:"error,omitempty"`
}

// taskResult is the result of a completed task. Unlike the answer to a call, to which the SDK adds it,
// it has to say itself that it is complete.
type taskResult struct{ *mcp.CallToolResult }

// MarshalJSON implements [json.Marshaler].
func (r *taskResult) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(r.CallToolResult)
	if err != nil {
		return nil, err
	}
	return jsontext.JoinMembers(append(jsontext.Members(text), jsontext.Member{Key: "resultType", Value: json.RawMessage(`"complete"`)})), nil
}

// taskSource finds and cancels tasks.
type taskSource interface {
	// task is the current state of one of the caller's tasks; nil if there is none with the
	// id.
	task(ctx context.Context, id string) (*task, error)
	// cancelTask asks one of the caller's tasks to stop; false if there is none with the id.
	// It doesn't change a task that has ended.
	cancelTask(ctx context.Context, id string) (bool, error)
}

// taskParams name a task. Other members of an update are ignored, since our tasks ask the client
// for nothing.
type taskParams struct {
	mcp.ParamsBase
	TaskID string `json:"taskId"`
}

// acknowledged is the empty result of an update and of a cancellation.
type acknowledged struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
}

// addTasks makes a server answer with tasks, and for them.
func addTasks(m *mcp.Server, from taskSource) error {
	m.AddReceivingMiddleware(answerWithTasks)
	get := func(ctx context.Context, _ *mcp.ServerSession, p *taskParams) (*task, error) {
		if err := p.check(); err != nil {
			return nil, err
		}
		t, err := from.task(ctx, p.TaskID)
		if err == nil && t == nil {
			err = noTask()
		}
		if err != nil {
			return nil, err
		}
		t.ResultType, t.PollIntervalMs = "complete", taskPoll.Milliseconds()
		return t, nil
	}
	update := func(ctx context.Context, _ *mcp.ServerSession, p *taskParams) (*acknowledged, error) {
		_, err := get(ctx, nil, p)
		return &acknowledged{ResultType: "complete"}, err
	}
	cancel := func(ctx context.Context, _ *mcp.ServerSession, p *taskParams) (*acknowledged, error) {
		if err := p.check(); err != nil {
			return nil, err
		}
		there, err := from.cancelTask(ctx, p.TaskID)
		if err == nil && !there {
			err = noTask()
		}
		return &acknowledged{ResultType: "complete"}, err
	}
	if err := mcp.AddReceivingCustomMethod(m, methodTaskGet, get); err != nil {
		return err
	}
	if err := mcp.AddReceivingCustomMethod(m, methodTaskUpdate, update); err != nil {
		return err
	}
	return mcp.AddReceivingCustomMethod(m, methodTaskCancel, cancel)
}

// check refuses a client that hasn't declared that it knows tasks.
func (p *taskParams) check() error {
	if p != nil && knowsTasks(p) {
		return nil
	}
	return &jsonrpc.Error{
		Code: mcp.CodeMissingRequiredClientCapabilities, Message: "the request doesn't declare the extension " + tasksExtension,
		Data: []byte(`{"requiredCapabilities":{"extensions":{"` + tasksExtension + `":{}}}}`),
	}
}

// noTask is the error for a task that doesn't exist, or that belongs to another caller.
func noTask() error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "there is no such task"}
}

// knowsTasks reports whether a request declares the extension; each request has to.
func knowsTasks(p mcp.Params) bool {
	capabilities, _ := p.GetMeta()[mcp.MetaKeyClientCapabilities].(map[string]any)
	extensions, _ := capabilities["extensions"].(map[string]any)
	_, declared := extensions[tasksExtension]
	return declared
}

type madeKey struct{}

// answerWithTasks answers a call with the task that its tool has made, if the client knows
// tasks.
func answerWithTasks(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method != "tools/call" || !knowsTasks(req.GetParams()) {
			return next(ctx, method, req)
		}
		var made *task
		result, err := next(context.WithValue(ctx, madeKey{}, &made), method, req)
		if err != nil || made == nil {
			return result, err
		}
		made.ResultType, made.PollIntervalMs = "task", taskPoll.Milliseconds()
		return made, nil
	}
}

// madeTask is the place for the task that a tool makes; nil if the client doesn't know tasks and
// gets the tool's own result. The task must exist before the client asks for it.
func madeTask(ctx context.Context) **task {
	made, _ := ctx.Value(madeKey{}).(**task)
	return made
}
