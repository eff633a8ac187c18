//go:build !linux || !(amd64 || arm64)

package sandbox

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// Probe reports that nothing confines plugins here.
func Probe() Status { return probe() }

func probe() Status {
	return Status{Missing: []string{"there is no sandbox for " + runtime.GOOS + " on " + runtime.GOARCH}}
}

func tryNamespaces() namespaces { return namespaces{} }

// confinement is empty here.
type confinement struct{}

func (c *Cell) prepare() error { return nil }

func (c *Cell) release() {}

// Command returns the plugin's program with these arguments, the first of which
// is its name, and this environment.
func (c *Cell) Command(args, env []string, keep *os.File) (*exec.Cmd, error) {
	cmd := &exec.Cmd{Path: c.spec.Path, Args: args, Env: env, Dir: c.Dir()}
	if keep != nil {
		cmd.ExtraFiles = []*os.File{nil, keep} // from 3 on
	}
	return cmd, nil
}

// Start starts the program.
func (c *Cell) Start(cmd *exec.Cmd) error { return cmd.Start() }

// Confine does nothing here.
func (c *Cell) Confine(int) error { return nil }

// Peer accepts any process that could open a socket in the private folder.
func (c *Cell) Peer(net.Conn, int) error { return nil }

// members is the first process: others aren't looked for here.
func (c *Cell) members(pid int) []int { return []int{pid} }

// ProcessorTime isn't known here.
func (c *Cell) ProcessorTime(int) (time.Duration, error) { return 0, errors.ErrUnsupported }

// unnamed isn't counted here.
func (c *Cell) unnamed([]int) unnamed { return unnamed{} }

// OutOfMemory is never known here.
func (c *Cell) OutOfMemory() bool { return false }

func removeGroups(string) {}

func sweepGroups() {}
