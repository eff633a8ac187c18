package mcpserver

import (
	"context"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/jsontext"
)

// TestProgress_OfATask: the official library's client, which says that it knows tasks, gives a
// token with a call that becomes one. On the connection it gets the job's progress until that
// ends, and nothing more; a call without a token, and a client that doesn't know tasks, get
// nothing.
func TestProgress_OfATask(t *testing.T) { synctest.Test(t, progressOfATask) }

func progressOfATask(t *testing.T) {
	w := operationtest.New(t)
	s := newServerOf(t, w)
	for name, c := range map[string]struct {
		knows, asks bool
		want        []string
	}{
		"knows tasks":         {true, true, []string{"token 0.25 of 1: 25 % is done", "token 0.75 of 1: 75 % is done"}},
		"asks for none":       {true, false, nil},
		"doesn't know of any": {false, true, nil},
	} {
		var heard []string
		options := &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}, ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			heard = append(heard, fmt.Sprintf("%v %v of %v: %s", r.Params.ProgressToken, r.Params.Progress, r.Params.Total, r.Params.Message))
		}}
		if c.knows {
			options.Capabilities.AddExtension(tasksExtension, nil)
		}
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			ended <- s.ServeStdio(core.WithCaller(context.Background(), core.Operator(operationtest.Agent)), All, in, out)
			_ = out.Close()
		}()
		session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, options).Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
		w.Must(err)
		params := &mcp.CallToolParams{Name: "dream", Arguments: map[string]any{"action": "run", "mode": "always", "namespace": operationtest.Here}}
		if c.asks {
			params.SetProgressToken("token")
		}
		_, err = session.CallTool(t.Context(), params)
		w.Must(err)
		claimed, err := w.Host.Jobs.Claim(t.Context(), "worker", job.Types())
		w.Must(err)
		if claimed == nil || claimed.Type != job.Dream {
			t.Fatalf("%s: %+v", name, claimed)
		}
		for _, done := range []float64{0.25, 0.25, 0.75} {
			time.Sleep(2 * progressPause)
			w.Config.Clock.(*coretest.Clock).Advance(2 * time.Second)
			w.Must(w.Host.Jobs.Progress(t.Context(), claimed.Held, done))
			time.Sleep(2 * progressPause)
		}
		w.Must(w.Host.Jobs.Complete(t.Context(), claimed.Held, &job.Outcome{Result: jsontext.MustEncode(struct{}{})}))
		time.Sleep(10 * progressPause)
		synctest.Wait()
		if !slices.Equal(heard, c.want) {
			t.Errorf("who %s hears %q", name, heard)
		}
		_ = session.Close()
		_ = toServer.Close()
		w.Must(<-ended)
	}
}
