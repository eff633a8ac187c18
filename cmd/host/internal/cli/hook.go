package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/reflectory/reflectory/cmd/host/internal/client"
	"github.com/reflectory/reflectory/cmd/host/internal/connect"
	"github.com/reflectory/reflectory/cmd/host/internal/term"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/plainfile"
	"github.com/reflectory/reflectory/sdk"
)

// A coding agent waits for its hooks, shows their errors to its user, and takes some exit codes as an
// order to stop. So a hook ends in time with exit code 0, whatever happens; what went wrong is in a log.

const (
	// hookTime is how long a hook works while a server runs, without the start of the program: the client
	// has its answer within 300 ms.
	hookTime = 250 * time.Millisecond
	// aloneTime is for a hook that has to open the store itself: the answer comes within 2 s.
	aloneTime = 1900 * time.Millisecond
	// hookLog is in the data folder's folder of hooks. It is emptied at maxHookLog.
	hookLog    = "hook.log"
	maxHookLog = 1 << 20
)

func hookCommand(a *App) *cobra.Command {
	h := &hook{app: a}
	a.hook = h
	c := &cobra.Command{
		Use: "hook EVENT", Short: "Answer a coding agent's hook; connect writes the calls",
		Long: `Answer the hook of a coding agent: read the client's JSON from standard input, and print
what the client expects. reflectory connect writes these calls into the client's
settings. EVENT is session-start, prompt, tool, reply, stop or session-end.

At the start of a session and at a prompt, the client gets context; a text that begins
with "remember that", and a line that begins with #, is stored as a memory, in the
user's words. The end of a turn is its feedback: how its last tool call went, and which
memories the reply used. In a folder that isn't connected, nothing happens.

It answers within 300 ms if a server runs, else within 2 s, and always exits with 0.
Errors are only in hooks/hook.log, in the data folder.`,
		Example: "  reflectory hook stop --client codex",
		// It uses the settings of the connection, which its input names.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(c *cobra.Command, args []string) error {
			h.kind = connect.Kind(args[0])
			return h.run(c.Context())
		},
	}
	c.Flags().StringVar(&h.client, "client", "", "the `client` that calls it: "+clientNames())
	required(c, "client")
	return c
}

// hook is one call of a hook.
type hook struct {
	app    *App
	client string
	kind   connect.Kind

	event   *connect.Event
	talk    connect.Conversation
	dataDir string
	// logs is the folder of the log, once it is known.
	logs atomic.Pointer[string]
}

// run answers a hook. What doesn't end in time is abandoned, and ends with the program, as in a crash:
// then nothing is printed.
func (h *hook) run(ctx context.Context) error {
	a := h.app
	a.out.Stderr = io.Discard // notes and progress are for people
	answered, ended := make(chan []byte, 1), make(chan error, 1)
	limit := time.NewTimer(aloneTime)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				ended <- fmt.Errorf("panic: %v", r)
			}
		}()
		answer, err := h.answer(ctx, func() { limit.Reset(hookTime) })
		answered <- answer
		ended <- core.JoinErrors(err, a.closeHost())
	}()
	for {
		select {
		case answer := <-answered:
			_, _ = a.Stdout.Write(answer) // a client that is gone needs no answer
		case err := <-ended:
			select {
			case answer := <-answered:
				_, _ = a.Stdout.Write(answer)
			default:
			}
			return err
		case <-limit.C:
			a.abandoned = true
			return sdk.Errorf(sdk.Exhausted, "hook_late", "the hook didn't end in time")
		}
	}
}

// endHook ends the program after a hook, or a command line of one that is wrong: with exit code 0, and
// an error in the log. A person who tries a hook on a terminal sees the error.
func (a *App) endHook(err error) int {
	if folder := a.hook.logs.Load(); err != nil && folder != nil {
		a.hook.log(*folder, err)
	}
	if err != nil && term.IsTerminal(a.Stderr) {
		fmt.Fprintf(a.Stderr, "error: %s\n", term.Clean(err.Error())) //nolint:errcheck // it ends either way
	}
	return exitPassed
}

// log appends an error to the log of hooks. A log that can't be written is no reason to fail.
func (h *hook) log(folder string, err error) {
	if os.MkdirAll(folder, 0o700) != nil {
		return
	}
	path, flags := filepath.Join(folder, hookLog), os.O_CREATE|os.O_APPEND|os.O_WRONLY
	if info, statErr := os.Stat(path); statErr == nil && info.Size() > maxHookLog {
		flags |= os.O_TRUNC
	}
	if file, openErr := os.OpenFile(path, flags, 0o600); openErr == nil {
		fmt.Fprintf(file, "%s %s %s: %s\n", core.SystemClock{}.Now().UTC().Format(time.RFC3339), h.client, h.kind, term.Clean(err.Error())) //nolint:errcheck // as above
		_ = file.Close()
	}
}

// answer does what an event asks for, and returns what the client expects. serves is called once it is
// known that a server runs.
func (h *hook) answer(ctx context.Context, serves func()) ([]byte, error) {
	a := h.app
	if !slices.Contains(connect.Kinds(), h.kind) {
		return nil, usageError{sdk.Errorf(sdk.Invalid, "usage", "%q is no event", core.Cut(string(h.kind)))}
	}
	data, err := plainfile.ReadAll("standard input", inputOf(a.Stdin), connect.MaxInput)
	if err != nil {
		return nil, err
	}
	// The folder's own settings don't count: they come with whatever was cloned there.
	a.folder = string(filepath.Separator)
	if err := a.loadConfig(); err != nil {
		return nil, err
	}
	dir := a.config.DataDir.Value
	list, err := connect.Connections(dir)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	h.dataDir = dir
	h.logs.Store(new(filepath.Join(dir, connect.SessionsFolder))) // from here on, errors are logged
	if h.event, err = connect.ReadEvent(data, h.client); err != nil {
		return nil, err
	}
	if h.event.Folder == "" {
		h.event.Folder, _ = os.Getwd() // else only the user's connection counts
	}
	connection := connect.Connected(list, h.client, h.event.Folder)
	if connection == nil {
		return nil, nil
	}
	h.talk = connect.ConversationOf(dir, h.event.Session)
	switch h.kind {
	case connect.Tool:
		return nil, h.talk.Called(connect.Call{Tool: h.event.Tool, ID: h.event.ToolID, Failed: h.event.Failed})
	case connect.Reply:
		return nil, h.talk.Said(h.event.Reply)
	}
	a.flags.dataDir, a.folder = dir, cmp.Or(connection.Folder, dir)
	if err := a.load(); err != nil {
		return nil, err
	}
	if there, err := client.Serves(ctx, dir); err == nil && there {
		serves()
	}
	return h.turn(core.WithCaller(ctx, core.Operator(h.event.Client)))
}

func clientNames() string { return strings.Join(connect.Clients(), ", ") }
