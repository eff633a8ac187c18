package process

import (
	"context"
	"io"
	"os/exec"
	"strconv"
	"strings"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"

	"github.com/reflectory/reflectory/sdk/wire"
)

// handshakeRunner lets go-plugin negotiate over a program that the instance launches and
// watches. Go-plugin sees one checked line of its output and none of its log.
type handshakeRunner struct {
	i      *instance
	env    []string // variables that go-plugin passes to the plugin
	stdout *io.PipeReader
}

// negotiate launches the plugin and returns the address where it listens.
func (i *instance) negotiate() (network, address string, err error) {
	client := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  wire.Handshake(),
		Plugins:          goplugin.PluginSet{wire.PluginName: &wire.Plugin{}},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		Logger:           hclog.NewNullLogger(),
		SkipHostEnv:      true,
		// The instance's own deadline expires first.
		StartTimeout:     2 * i.installed.Limits.StartTimeout,
		TLSConfig:        i.tls,
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: i.dir},
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, _ string) (runner.Runner, error) {
			return &handshakeRunner{i: i, env: cmd.Env}, nil
		},
	})
	addr, err := client.Start()
	if err != nil {
		return "", "", err
	}
	return addr.Network(), addr.String(), nil
}

// Start implements runner.Runner.
func (r *handshakeRunner) Start(context.Context) error {
	stdout, line := io.Pipe()
	r.stdout = stdout
	return r.i.launch(r.env, line)
}

// Wait implements runner.Runner.
func (r *handshakeRunner) Wait(context.Context) error { <-r.i.process.done; return nil }

// Kill implements runner.Runner. It leaves that to the instance's abort, which
// knows whether the process was ending by itself.
func (r *handshakeRunner) Kill(context.Context) error { return nil }

// Stdout implements runner.Runner.
func (r *handshakeRunner) Stdout() io.ReadCloser { return r.stdout }

// Stderr implements runner.Runner: the log is read elsewhere.
func (r *handshakeRunner) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Name implements runner.Runner.
func (r *handshakeRunner) Name() string { return r.i.installed.Name }

// ID implements runner.Runner.
func (r *handshakeRunner) ID() string { return strconv.Itoa(r.i.process.pid) }

// Diagnose implements runner.Runner. The instance knows more.
func (r *handshakeRunner) Diagnose(context.Context) string { return "" }

// PluginToHost implements runner.Runner.
func (r *handshakeRunner) PluginToHost(network, address string) (string, string, error) {
	return network, address, checkAddress(r.i.installed.Name, r.i.dir, network, address)
}

// HostToPlugin implements runner.Runner.
func (r *handshakeRunner) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
