//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"time"
)

// tick is the unit of times in the process table: USER_HZ is 100 on every architecture.
const tick = 10 * time.Millisecond

// ProcessorTime is how long the processes of an instance, of which pid is the first, have used
// processors, with the children for which they waited.
func (c *Cell) ProcessorTime(pid int) (time.Duration, error) {
	var sum time.Duration
	for _, member := range c.members(pid) {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(member) + "/stat")
		if err == nil {
			var used time.Duration
			if used, err = processorTime(text); err == nil {
				sum += used
			}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ESRCH) { // ended by now
			return 0, err
		}
	}
	return sum, nil
}

// processorTime reads a line of /proc/PID/stat. Its second field is the program's name, which
// may have any characters; the fields 14 to 17 are the ticks that the process and its children
// used as programs and in the kernel.
func processorTime(stat []byte) (time.Duration, error) {
	const first, last = 14 - 3, 17 - 3 // counted from the field after the name
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= last {
		return 0, fmt.Errorf("the process table shows %q", stat)
	}
	var sum time.Duration
	for _, field := range fields[first : last+1] {
		ticks, err := strconv.ParseInt(string(field), 10, 64) // children's are signed
		if err != nil {
			return 0, err
		}
		sum += time.Duration(ticks) * tick
	}
	return sum, nil
}
