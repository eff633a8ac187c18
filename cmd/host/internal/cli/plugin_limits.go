package cli

import (
	"fmt"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
)

// limits are what bounds each instance of a plugin.
type limits struct {
	MemoryBytes int64  `json:"memory_bytes"`
	Timeout     string `json:"timeout"`
	OutputBytes int    `json:"output_bytes"`
	Instances   int    `json:"instances"`
	// Parallel is how many calls an instance takes at a time; 0 is what it says.
	Parallel int `json:"parallel"`
	// Fuel is a module's, Processes is a process's.
	Fuel      uint64 `json:"fuel,omitempty"`
	Processes int    `json:"processes,omitempty"`
}

func newLimits(p *install.Package) *limits {
	l := p.Limits.WithDefaults(p.Runtime)
	shown := &limits{MemoryBytes: l.MemoryBytes, Timeout: l.Timeout.String(), OutputBytes: l.MessageBytes, Instances: l.Instances, Parallel: l.Parallel}
	if p.Runtime == plugin.RuntimeWASM {
		shown.Fuel = l.Fuel
	} else {
		shown.Processes = l.Processes
	}
	return shown
}

// String is a line for people.
func (l *limits) String() string {
	text := fmt.Sprintf("memory %d MiB, timeout %s, output %d KiB, instances %d", l.MemoryBytes>>20, l.Timeout, l.OutputBytes>>10, l.Instances)
	if l.Parallel > 0 {
		text += fmt.Sprintf(", parallel %d", l.Parallel)
	}
	if l.Fuel > 0 {
		return text + fmt.Sprintf(", fuel %d", l.Fuel)
	}
	return text + fmt.Sprintf(", processes %d (with their threads %d)", l.Processes, l.Processes*sandbox.TasksPerProcess)
}
