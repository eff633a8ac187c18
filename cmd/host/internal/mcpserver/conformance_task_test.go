//go:build surfaces

package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/jsontext"
)

// TestConformance_OfTasks runs the suite's scenarios of the extension on a server that has the
// suite's tools, whose tasks are in memory, over our layer. What fails is listed with its reason
// in testdata/conformance-2026-tasks.yaml.
func TestConformance_OfTasks(t *testing.T) {
	w := operationtest.New(t)
	m := newServer("1.2.3", "")
	tasks := &memoryTasks{tasks: map[string]*memoryTask{}}
	t.Cleanup(tasks.close)
	w.Must(addTasks(m, tasks))
	tasks.addTools(m)
	url := serveTCP(t, w, everybody{}, streamable(func(*http.Request) *mcp.Server { return m }, 1<<20))
	expected, err := filepath.Abs(filepath.Join("testdata", "conformance-2026-tasks.yaml"))
	w.Must(err)
	for _, scenario := range []string{
		"tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields", "tasks-request-state-removal", "tasks-request-headers",
		"tasks-dispatch-and-envelope", "tasks-status-notifications", "tasks-required-task-error", "tasks-mrtr-input", "tasks-mrtr-composition",
	} {
		t.Run(scenario, func(t *testing.T) {
			out, code := node(t, "conformance-2026/dist/index.js", "server", "--url", url, "--scenario", scenario,
				"--spec-version", editions["conformance-2026"], "--force", "--expected-failures", expected)
			if code != 0 {
				t.Errorf("exit %d:\n%s", code, out)
			}
		})
	}
}

// memoryTasks are tasks as the suite's tools make them.
type memoryTasks struct {
	mu    sync.Mutex
	tasks map[string]*memoryTask
	work  sync.WaitGroup
}

type memoryTask struct {
	task
	stop context.CancelFunc
}

// task implements [taskSource].
func (m *memoryTasks) task(_ context.Context, id string) (*task, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.tasks[id]; t != nil {
		shown := t.task
		return &shown, nil
	}
	return nil, nil
}

// cancelTask implements [taskSource].
func (m *memoryTasks) cancelTask(_ context.Context, id string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.tasks[id]
	if t != nil {
		t.stop()
	}
	return t != nil, nil
}

func (m *memoryTasks) close() {
	m.mu.Lock()
	for _, t := range m.tasks {
		t.stop()
	}
	m.mu.Unlock()
	m.work.Wait()
}

// begin makes a task that ends after a while as end says, or cancelled.
func (m *memoryTasks) begin(takes time.Duration, end func(*task)) *task {
	ctx, stop := context.WithCancel(context.Background())
	m.mu.Lock()
	defer m.mu.Unlock()
	at := time.Now()
	made := &memoryTask{task: task{
		TaskID: fmt.Sprintf("task-%d", len(m.tasks)), Status: taskWorking, CreatedAt: at, LastUpdatedAt: at, TTLMs: taskKept.Milliseconds(),
	}, stop: stop}
	m.tasks[made.TaskID] = made
	m.work.Go(func() {
		timer := time.NewTimer(takes)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			end = func(t *task) { t.Status = taskCancelled }
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		stop()
		made.LastUpdatedAt = time.Now()
		end(&made.task)
	})
	shown := made.task
	return &shown
}

// addTools adds the suite's tools, as its documents describe them.
func (m *memoryTasks) addTools(s *mcp.Server) {
	said := func(format string, args ...any) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
	}
	completes := func(r *mcp.CallToolResult) func(*task) {
		return func(t *task) { t.Status, t.Result = taskCompleted, &taskResult{r} }
	}
	type arguments struct {
		Name, Label string
		Seconds     float64
	}
	add := func(name string, do func(ctx context.Context, args arguments) (*mcp.CallToolResult, error)) {
		s.AddTool(&mcp.Tool{Name: name, Description: "The suite's " + name, InputSchema: json.RawMessage(`{"type": "object"}`)},
			func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				var args arguments
				_ = json.Unmarshal(req.Params.Arguments, &args)
				return do(ctx, args)
			})
	}
	// onlyTask is a tool that can't be called without a task.
	onlyTask := func(takes time.Duration, end func(*task)) func(context.Context, arguments) (*mcp.CallToolResult, error) {
		return func(ctx context.Context, _ arguments) (*mcp.CallToolResult, error) {
			made := madeTask(ctx)
			if made == nil {
				return nil, (*taskParams)(nil).check()
			}
			*made = m.begin(takes, end)
			return said("it has begun"), nil
		}
	}
	add("greet", func(_ context.Context, args arguments) (*mcp.CallToolResult, error) {
		return said("Hello, %s!", args.Name), nil
	})
	add("slow_compute", func(ctx context.Context, args arguments) (*mcp.CallToolResult, error) {
		if made := madeTask(ctx); made != nil {
			*made = m.begin(time.Duration(args.Seconds*float64(time.Second)), completes(said("computed %s", args.Label)))
		}
		return said("computed %s", args.Label), nil
	})
	refusal := said("the job failed")
	refusal.IsError = true
	add("failing_job", onlyTask(time.Second, completes(refusal)))
	add("protocol_error_job", onlyTask(0, func(t *task) {
		t.Status, t.Error = taskFailed, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "it broke", Data: jsontext.MustEncode("nothing else")}
	}))
	for _, name := range []string{"confirm_delete", "multi_input", "test_tool_with_task"} { // which would ask the client
		add(name, func(context.Context, arguments) (*mcp.CallToolResult, error) { return said("nothing is asked"), nil })
	}
}
