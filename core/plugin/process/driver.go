package process

import (
	"context"
	"os"
	"time"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
)

// Options set up a [Driver]. A field that is its zero value has its default.
type Options struct {
	// Sandbox determines what to do if the system can't confine plugins. Default
	// [sandbox.Prefer].
	Sandbox sandbox.Mode
	// Network makes the dialer for a plugin that was granted endpoints. If it is nil, plugins
	// reach none.
	Network func(endpoints []string) (Dialer, error)
	// Authorities are what plugins with granted endpoints trust in addition to the system's
	// authorities, as one PEM file; folders means that the system's folders of them don't count.
	// They get it as SSL_CERT_FILE. Nil, or no bytes, means the system's alone.
	Authorities func() (pem []byte, folders bool)
	// PlainText turns mutual TLS off. The socket's folder is private either way.
	PlainText bool
	// TempDir is the folder for private folders. Default [TempDir].
	TempDir string
	// Grace is how long an instance may take to end when it is closed. Default 2 s.
	Grace time.Duration
	// LogLevel is the least level that plugins log: "trace", "debug", "info",
	// "warn" or "error". Default "info".
	LogLevel string
	// Log is called with each line that plugins write. For each instance it is called by one
	// goroutine at a time, and the instance's output waits until it returns. By default lines
	// are dropped.
	Log func(plugin.LogLine)
	// Services answers the plugins' questions to the host. By default they are refused.
	Services plugin.Services
	// Now is the clock of log lines. Default the system's.
	Now func() time.Time
}

// defaultGrace is the same as go-plugin's.
const defaultGrace = 2 * time.Second

// Driver starts plugins as subprocesses. It is safe for concurrent use.
type Driver struct {
	options Options
	box     *sandbox.Sandbox
}

// New returns a driver.
func New(o Options) *Driver {
	if o.Grace == 0 {
		o.Grace = defaultGrace
	}
	if o.TempDir == "" {
		o.TempDir = TempDir()
	}
	if o.Log == nil {
		o.Log = func(plugin.LogLine) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Driver{options: o, box: sandbox.New(sandbox.Options{Mode: o.Sandbox, TempDir: o.TempDir})}
}

// maxTempDir leaves room for the private folder and the socket's own name (40
// bytes) in a unix socket's address, which has 103 bytes on macOS and 107 on
// Linux.
const maxTempDir = 60

// TempDir returns where the files that plugins use are made: the system's temporary
// folder, or /tmp if that path is too long for a socket, if nothing may be executed there, or
// if the host is root and the users of plugins can't enter it.
func TempDir() string { return fitTempDir(os.TempDir(), "/tmp", sandbox.NoExec) }

// fitTempDir is dir, or the common folder if dir isn't fit for plugins and the common one is there.
func fitTempDir(dir, common string, noExec func(path string) bool) string {
	info, err := os.Stat(common)
	unfit := len(dir) > maxTempDir || !sandbox.Enterable(dir) || noExec(dir) && !noExec(common)
	if unfit && err == nil && info.IsDir() {
		return common
	}
	return dir
}

// Start starts one instance. See [plugin.Driver].
func (d *Driver) Start(ctx context.Context, p plugin.Installed) (plugin.Instance, error) {
	p.Limits = p.Limits.WithDefaults(p.Runtime)
	i, err := newInstance(d.options, d.box, p)
	if err != nil {
		return nil, err
	}
	ctx, cancel := plugin.WithStartTimeout(ctx, &p)
	defer cancel()
	// Every wait below ends when the process does, so a deadline is enforced by ending
	// the process.
	watching := context.AfterFunc(ctx, func() { i.end(startEnded(ctx, p)) })
	err = i.start(ctx)
	if !watching() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, i.abort(err)
	}
	return i, nil
}

func startEnded(ctx context.Context, p plugin.Installed) error {
	return plugin.StartEnded(ctx, &p, "a plugin starts with process.Main or go-plugin's handshake; run "+p.Shown(p.Path)+" --describe to try it")
}
