package process

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/logs"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/wire"
)

const (
	// drainTime is how long more output is waited for after the end of the process, in case
	// another process still has a pipe open. drainLimit bounds all reading after the end, in case
	// such a process goes on writing.
	drainTime  = 200 * time.Millisecond
	drainLimit = 5 * time.Second
	// exitTime is how long a process whose stream ended gets to end by itself,
	// so that its exit status and last lines become the cause.
	exitTime = 500 * time.Millisecond
	// lookEvery is how often a plugin and its temporary folder are checked: a disk takes a few
	// GB a second at most, and a check of an ordinary plugin takes 0.2 ms.
	lookEvery = time.Second
)

// environment is the whole environment that the plugin starts with: enough to find
// an interpreter and to make temporary files, what it was granted, and the handshake.
func (i *instance) environment(handshake []string) []string {
	own := []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "TMPDIR=" + i.dir}
	// go-plugin's own folder for the socket would be the host's user's.
	env := slices.Concat(own, i.installed.Env, handshake, []string{"PLUGIN_UNIX_SOCKET_DIR=" + i.dir})
	if i.hello.TLS != nil {
		// For plugins that make their own certificate. It is no secret.
		env = append(env, "PLUGIN_CLIENT_CERT="+i.hello.TLS.HostCertificate)
	}
	return env
}

// authorities writes what the plugin trusts into its folder, since it can't read the host's
// files, and returns the variables that say so. OpenSSL and Go read them.
func (i *instance) authorities() ([]string, error) {
	if i.options.Authorities == nil {
		return nil, nil
	}
	pem, folders := i.options.Authorities()
	if len(pem) == 0 {
		return nil, nil
	}
	dir := filepath.Join(i.dir, "authorities")
	path := filepath.Join(dir, "ca.pem")
	err := os.Mkdir(dir, 0o755) //nolint:gosec // the plugin, another user, reads it; it is public
	if err == nil {
		err = os.WriteFile(path, pem, 0o644) //nolint:gosec // as above
	}
	if err != nil {
		return nil, err
	}
	env := []string{"SSL_CERT_FILE=" + path}
	if folders {
		env = append(env, "SSL_CERT_DIR="+dir)
	}
	return env, nil
}

// start starts the instance. The caller ends it if that takes too long.
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
		Plugin: i.installed.Name, MessageBytes: i.installed.Limits.MessageBytes, Host: i.serve,
	}); err != nil {
		return err
	}
	if max(1, cmp.Or(i.installed.Limits.Parallel, i.client.Manifest().Parallel)) == 1 {
		i.runs.setSerial()
	}
	i.streams.Go(func() { defer close(i.stdio); readStdio(i.conn, i.logs) })
	i.streams.Go(i.watchStream)
	return nil
}

// launch starts the process, hands it its start message, and passes its first
// line on once that is checked.
func (i *instance) launch(handshakeEnv []string, line *io.PipeWriter) error {
	env := i.environment(handshakeEnv)
	hello, err := i.hello.Encode()
	if err != nil {
		return err
	}
	network, theirs, err := newProxy(i.options, &i.installed)
	if err != nil {
		return err
	}
	i.proxy = network
	if theirs != nil {
		defer theirs.Close()
		env = append(env, wire.ProxyVariable+"="+strconv.Itoa(sandbox.KeepFD))
		trusted, err := i.authorities()
		if err != nil {
			return err
		}
		env = append(env, trusted...)
	}
	cmd, err := i.cell.Command(append([]string{i.installed.Path}, i.installed.Args...), env, theirs)
	if err != nil {
		return err
	}
	p, err := launch(cmd, i.cell)
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
	i.outputs.Go(func() { copyLines(&output{pipe: p.stderr}, i.logs) })
	i.outputs.Go(i.watch)
	go i.supervise()
	// A pipe holds far more than the message, so this doesn't wait for a reader. A process
	// that has already ended is noticed elsewhere.
	_, _ = p.stdin.Write(hello)
	return nil
}

// readStdout gives go-plugin the handshake's line, if it is one, and logs what
// follows.
func (i *instance) readStdout(line *io.PipeWriter) {
	defer line.Close()
	out := bufio.NewReaderSize(&output{pipe: i.process.stdout}, maxHandshake)
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

// watch ends a plugin that exceeds a limit that the kernel doesn't enforce.
func (i *instance) watch() {
	every := time.NewTicker(lookEvery)
	defer every.Stop()
	for {
		select {
		case <-i.process.done:
			return
		case <-every.C:
		}
		if err := i.cell.Check(i.process.pid); err != nil {
			i.end(err)
			return
		}
	}
}

// supervise waits for the end and cleans up.
func (i *instance) supervise() {
	p := i.process
	<-p.done
	_ = p.stdout.SetReadDeadline(time.Now()) // from here on output waits for drainTime only
	_ = p.stderr.SetReadDeadline(time.Now())
	i.outputs.Wait()
	i.drainStdio()
	p.closePipes()
	i.setCause(i.ended())
	<-i.started
	if i.client != nil {
		_ = i.client.Close()
	}
	if i.conn != nil {
		_ = i.conn.Close()
	}
	i.streams.Wait()
	i.logs.Flush()
	i.proxy.close()
	i.cell.Close()
	close(i.done)
}

// drainStdio waits for the output that a plugin built with go-plugin sent before its end,
// so that the cause can quote it.
func (i *instance) drainStdio() {
	select {
	case <-i.started:
	default:
		return // it isn't read yet
	}
	if i.client == nil {
		return
	}
	timer := time.NewTimer(drainTime)
	defer timer.Stop()
	select {
	case <-i.stdio:
	case <-timer.C:
	}
}

func (i *instance) dial(network, address string) (*grpc.ClientConn, error) {
	creds := insecure.NewCredentials()
	if i.tls != nil {
		creds = credentials.NewTLS(i.tls)
	}
	return grpc.NewClient("passthrough:///"+serverName, append(wire.DialOptions(),
		grpc.WithTransportCredentials(creds),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			if err := i.cell.Peer(conn, i.process.pid); err != nil {
				_ = conn.Close()
				i.end(err)
				return nil, err
			}
			return conn, nil
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
			i.giveUp(err)
		}
	}
}

// abort ends an instance that didn't start, and returns the first cause: the reason why it
// was ended, or its own exit, rather than an error that followed from it.
func (i *instance) abort(err error) error {
	if i.process == nil {
		i.proxy.close()
		i.cell.Close()
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.cause != nil {
			return i.cause
		}
		return notLaunched(&i.installed, err, sandbox.NoExec)
	}
	var e *sdk.Error
	if !errors.As(err, &e) || errors.Is(err, wire.ErrLost) {
		timer := time.NewTimer(exitTime)
		defer timer.Stop()
		select {
		case <-i.process.done: // supervise says how
		case <-timer.C:
			i.giveUp(sdk.Errorf(sdk.Invalid, "handshake_invalid", "plugin %s did not begin to serve: %w", i.installed.Name, err))
		}
	} else {
		i.end(err)
	}
	<-i.done
	return i.withTail(i.Cause())
}

// notLaunched explains why there is no process.
func notLaunched(p *plugin.Installed, err error, noExec func(path string) bool) error {
	var explained *sdk.Error
	if errors.As(err, &explained) {
		return err
	}
	program := p.Shown(p.Path)
	e := sdk.Errorf(sdk.Unavailable, "start_failed", "plugin %s could not be started: %w", p.Name, p.ShownError(err))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Code = sdk.NotFound
		e.Hint = "build or install it so that " + program + " and what interprets it exist"
	case errors.Is(err, fs.ErrPermission) && noExec(p.Path):
		return notExecutable(p)
	case errors.Is(err, fs.ErrPermission):
		e.Code = sdk.Denied
		e.Hint = "make " + program + " executable"
	}
	return e
}

// notExecutable is the error for a program on a file system that is mounted with noexec: usually
// of its private copy, in the folder for temporary files.
func notExecutable(p *plugin.Installed) error {
	e := sdk.Errorf(sdk.Denied, "start_failed", "plugin %s could not be started: %s is on a file system that is mounted with noexec, from which nothing can be executed",
		p.Name, filepath.Dir(p.Path))
	if p.Source == "" || p.Source == p.Dir {
		return e.WithHint("move the plugin to another file system, or mount this one without noexec")
	}
	return e.WithHint("set TMPDIR to a folder from which programs can be executed: plugins run from private copies there")
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
