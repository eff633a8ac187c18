package pebble

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	pebbledb "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/reflectory/reflectory/sdk"
)

const (
	holderFile = "HOLDER"
	// maxHolderBytes is how much of a holder file is read; one has about 100.
	maxHolderBytes = 4 << 10
)

// holder says who has a store open. It only informs: the lock is Pebble's.
type holder struct {
	PID     int       `json:"pid"`
	Program string    `json:"program"`
	Since   time.Time `json:"since"`
}

func (h *holder) String() string {
	return fmt.Sprintf("%s (pid %d, since %s)", h.Program, h.PID, h.Since.Format(time.DateTime))
}

// lock takes the directory's lock, or says who has it.
func lock(files vfs.FS, dir string) (*pebbledb.Lock, error) {
	l, err := pebbledb.LockDirectory(dir, files)
	var path *fs.PathError
	switch {
	case err == nil:
		return l, nil
	case errors.As(err, &path): // the lock file itself can't be made
		return nil, err
	}
	by := "another program"
	h, found := readHolder(files, dir)
	if found {
		by = h.String()
	}
	e := sdk.Errorf(sdk.Conflict, "store_locked", "the store in %s is in use by %s", dir, by).
		WithHint("wait for it to end, or name another data directory")
	if found {
		e.WithDetail("pid", h.PID).WithDetail("program", h.Program).WithDetail("since", h.Since)
	}
	return nil, e
}

func readHolder(files vfs.FS, dir string) (h holder, found bool) {
	f, err := files.Open(files.PathJoin(dir, holderFile))
	if err != nil {
		return h, false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxHolderBytes))
	if err != nil || json.Unmarshal(text, &h) != nil {
		return h, false
	}
	return h, true
}

func writeHolder(files vfs.FS, o *Options) error {
	text, err := json.Marshal(holder{os.Getpid(), o.Program, o.Clock.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	f, err := files.Create(files.PathJoin(o.Dir, holderFile), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	return errors.Join(err, f.Close())
}
