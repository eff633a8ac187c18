package mcpserver

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A call that takes as long as a model does is a task for a client that knows the protocol's
// extension for that (SEP-2663): the call is answered with the task's id, which the client asks
// for until the task has its result. The library doesn't know the extension. It lets a server
// have methods of its own, and change what a call is answered with: that is all this file does.
// What tasks are is their source's to say; see job.go for ours.

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

// The statuses of tasks. One whose tool refused is completed, with that as its result.
const (
	taskWorking   = "working"
	taskCompleted = "completed"
	taskFailed    = "failed" // by an error of the protocol, which none of our tools ends with
	taskCancelled = "cancelled"
)

// task is a task as the extension has it.
type task struct {
	mcp.ResultBase
	// ResultType is "task" in the answer to a call, else "complete".
	ResultType    string    `json:"resultType"`
	TaskID        string    `json:"taskId"`
	Status        string    `json:"status"`
	StatusMessage string    `json:"statusMessage,omitempty"`
	CreatedAt     time.Time `json:"createdAt"`
	LastUpdatedAt time.Time `json:"lastUpdatedAt"`
	// TTLMs is how long it is kept at least, from CreatedAt.
	TTLMs          int64 `json:"ttlMs"`
	PollIntervalMs int64 `json:"pollIntervalMs"`
	// Result is the tool's, of a task that is completed, and Error of one that failed.
	Result *mcp.CallToolResult `json:"result,omitempty"`
	Error  *jsonrpc.Error      `json:"error,omitempty"`
}

// taskSource is where tasks are.
type taskSource interface {
	// task is one of the caller's as it is now; nil if there is none by the id.
	task(ctx context.Context, id string) (*task, error)
	// cancelTask asks one of the caller's to stop; false if there is none by the id. One that
	// has ended stays as it is.
	cancelTask(ctx context.Context, id string) (bool, error)
}

// taskParams name a task. What else an update has is dropped: no task of ours asks anything.
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

// check refuses a client that hasn't said that it knows tasks.
func (p *taskParams) check() error {
	if p != nil && knowsTasks(p) {
		return nil
	}
	return &jsonrpc.Error{
		Code: mcp.CodeMissingRequiredClientCapabilities, Message: "the request doesn't declare the extension " + tasksExtension,
		Data: []byte(`{"requiredCapabilities":{"extensions":{"` + tasksExtension + `":{}}}}`),
	}
}

// noTask is the error of a task that there isn't, by the same words as of another caller's.
func noTask() error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "there is no such task"}
}

// knowsTasks reports whether a request declares the extension, as each has to for itself.
func knowsTasks(p mcp.Params) bool {
	capabilities, _ := p.GetMeta()[mcp.MetaKeyClientCapabilities].(map[string]any)
	extensions, _ := capabilities["extensions"].(map[string]any)
	_, declared := extensions[tasksExtension]
	return declared
}

type madeKey struct{}

// answerWithTasks answers a call with the task that its tool has made, where the client knows
// what that is.
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

// madeTask takes the task that a tool has made; nil if the client doesn't know tasks, and
// gets the tool's own result. The task must be there already for who asks for it.
func madeTask(ctx context.Context) **task {
	made, _ := ctx.Value(madeKey{}).(**task)
	return made
}
