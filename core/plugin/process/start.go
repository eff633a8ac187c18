package process

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/reflectory/reflectory/core/plugin/logs"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/wire"
)

const (
	// drainTime is how long the rest of the output is read after the process's
	// end, where something else holds the other end of a pipe.
	drainTime = 200 * time.Millisecond
	// exitTime is how long a process whose stream ended gets to end by itself,
	// so that its status and last words become the cause.
	exitTime = 500 * time.Millisecond
)

// environment is the whole environment that a plugin starts with, before what
// it was granted: enough to find an interpreter and to make temporary files.
func environment(dir string) []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "TMPDIR=" + dir}
}

// start brings the instance up. The caller ends it when that takes too long.
func (i *instance) start(ctx context.Context) error {
	defer close(i.started)
	network, address, err := i.negotiate()
	if err != nil {
		return err
	}
	if i.conn, err = i.dial(network, address); err != nil {
		return err
	}
	if i.client, err = wire.NewClient(ctx, i.conn, wire.ClientOptions{
		Plugin: i.installed.Name, MessageBytes: i.installed.Limits.MessageBytes,
	}); err != nil {
		return err
	}
	i.streams.Go(func() { readStdio(i.conn, i.logs) })
	i.streams.Go(i.watchStream)
	return nil
}

// launch starts the process, hands it its start message, and passes its first
// line on once that is checked.
func (i *instance) launch(handshakeEnv []string, line *io.PipeWriter) error {
	path, err := filepath.Abs(i.installed.Path)
	if err != nil {
		return err
	}
	env := append(environment(i.dir), i.installed.Env...)
	env = append(env, handshakeEnv...)
	if i.hello.TLS != nil {
		// For plugins that make their own certificate. It is no secret.
		env = append(env, "PLUGIN_CLIENT_CERT="+i.hello.TLS.HostCertificate)
	}
	hello, err := i.hello.Encode()
	if err != nil {
		return err
	}
	p, err := launch(&exec.Cmd{
		Path: path, Args: append([]string{path}, i.installed.Args...), Env: env, Dir: i.dir,
	})
	if err != nil {
		return err
	}
	i.mu.Lock()
	i.process = p
	ended := i.cause != nil
	i.mu.Unlock()
	if ended {
		p.kill()
	}
	i.outputs.Go(func() { i.readStdout(line) })
	i.outputs.Go(func() { copyLines(p.stderr, i.logs) })
	go i.supervise()
	// A pipe holds far more than the message, so this doesn't wait for a reader.
	// A process that is gone already is seen elsewhere.
	_, _ = p.stdin.Write(hello)
	return nil
}

// readStdout gives go-plugin the handshake's line, if it is one, and logs what
// follows.
func (i *instance) readStdout(line *io.PipeWriter) {
	defer line.Close()
	out := bufio.NewReaderSize(i.process.stdout, maxHandshake)
	first, err := out.ReadSlice('\n')
	if len(first) > 0 { // without a line, abort says what happened
		if bad := checkHandshake(i.installed.Name, string(first), i.tls != nil); bad != nil {
			i.end(bad)
		} else if err == nil {
			_, _ = line.Write(first) // go-plugin reads until the end
		}
	}
	copyLines(out, i.logs)
}

// supervise waits for the end and puts everything away.
func (i *instance) supervise() {
	p := i.process
	<-p.done
	_ = p.stdout.SetReadDeadline(time.Now().Add(drainTime))
	_ = p.stderr.SetReadDeadline(time.Now().Add(drainTime))
	i.outputs.Wait()
	p.closePipes()
	i.setCause(i.exited())
	<-i.started
	if i.client != nil {
		_ = i.client.Close()
	}
	if i.conn != nil {
		_ = i.conn.Close()
	}
	i.streams.Wait()
	i.logs.Flush()
	_ = os.RemoveAll(i.dir)
	close(i.done)
}

func (i *instance) dial(network, address string) (*grpc.ClientConn, error) {
	creds := insecure.NewCredentials()
	if i.tls != nil {
		creds = credentials.NewTLS(i.tls)
	}
	return grpc.NewClient("passthrough:///"+serverName, append(wire.DialOptions(),
		grpc.WithTransportCredentials(creds),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		}))...)
}

// watchStream ends a process whose stream ended, since no call can reach it.
func (i *instance) watchStream() {
	<-i.client.Done()
	timer := time.NewTimer(exitTime)
	defer timer.Stop()
	select {
	case <-i.process.done:
	case <-timer.C:
		if err := i.client.Err(); err != nil {
			i.end(err)
		}
	}
}

// abort ends an instance that didn't start and returns why: what ended it first,
// or its own exit, comes before what that led to.
func (i *instance) abort(err error) error {
	if i.process == nil {
		_ = os.RemoveAll(i.dir)
		return i.notLaunched(err)
	}
	var e *sdk.Error
	if !errors.As(err, &e) || errors.Is(err, wire.ErrLost) {
		timer := time.NewTimer(exitTime)
		defer timer.Stop()
		select {
		case <-i.process.done: // supervise says how
		case <-timer.C:
			i.end(sdk.Errorf(sdk.Invalid, "handshake_invalid", "plugin %s did not begin to serve: %w", i.installed.Name, err))
		}
	} else {
		i.end(err)
	}
	<-i.done
	return i.withTail(i.Cause())
}

func (i *instance) notLaunched(err error) error {
	i.mu.Lock()
	cause := i.cause
	i.mu.Unlock()
	if cause != nil {
		return cause
	}
	e := sdk.Errorf(sdk.Unavailable, "start_failed", "plugin %s could not be started: %w", i.installed.Name, err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Code = sdk.NotFound
		e.Hint = "build or install it so that " + i.installed.Path + " exists"
	case errors.Is(err, fs.ErrPermission):
		e.Code = sdk.Denied
		e.Hint = "make " + i.installed.Path + " executable"
	}
	return e
}

// withTail adds the end of the plugin's output to an error that lacks it.
func (i *instance) withTail(err error) error {
	tail, _ := i.logs.End()
	e := *sdk.AsError(err)
	if _, ok := e.Details["stderr"]; ok || tail == "" {
		return err
	}
	e.Details = maps.Clone(e.Details)
	return e.WithDetail("stderr", tail)
}

func copyLines(r io.Reader, l *logs.Log) {
	w := logs.NewWriter(l)
	_, _ = io.Copy(w, r) // the end of the process, or of the drain time
	w.Flush()
}
