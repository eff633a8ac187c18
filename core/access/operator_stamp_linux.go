package access

import (
	"syscall"
	"time"
)

// stamp shows whether a file is the file that was read and is unchanged since. The system
// sets a file's change time whenever anything in the file changes, and nobody else can set
// it.
type stamp struct {
	device, inode uint64
	size          int64
	mode, owner   uint32
	changed       syscall.Timespec
}

// stampOf is the stamp of a file, without following a link.
func stampOf(path string) (stamp, bool) {
	var s syscall.Stat_t
	if err := syscall.Lstat(path, &s); err != nil {
		return stamp{}, false
	}
	return stamp{uint64(s.Dev), s.Ino, s.Size, s.Mode, s.Uid, s.Ctim}, true //nolint:unconvert // it is another type on some processors
}

// settleTime is longer than the steps of the clock from which files get their times.
const settleTime = 2 * time.Second

// settled reports whether a change from now on gives the file another stamp: its last one is
// over for longer than two changes may have the same time.
func (s stamp) settled(now time.Time) bool {
	return now.Sub(time.Unix(s.changed.Unix())) > settleTime
}
