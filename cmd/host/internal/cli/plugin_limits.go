package cli

import (
	"fmt"

	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/plugin/process/sandbox"
)

// limitsLine is the limits of a plugin for people.
func limitsLine(l *host.PluginLimits) string {
	text := fmt.Sprintf("memory %d MiB, timeout %s, output %d KiB, instances %d", l.MemoryBytes>>20, l.Timeout, l.OutputBytes>>10, l.Instances)
	if l.Parallel > 0 {
		text += fmt.Sprintf(", parallel %d", l.Parallel)
	}
	if l.Fuel > 0 {
		return text + fmt.Sprintf(", fuel %d", l.Fuel)
	}
	return text + fmt.Sprintf(", processes %d (%d with their threads)", l.Processes, l.Processes*sandbox.TasksPerProcess)
}
