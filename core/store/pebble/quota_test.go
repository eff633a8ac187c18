//go:build unix

package pebble

import (
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/sdk"
)

// quota is a disk with room for so many bytes. Removing a file frees what it
// took, and a write that doesn't fit writes what does, as on a real disk.
type quota struct {
	vfs.FS
	mu   sync.Mutex
	left int64
}

// take takes up to n bytes of the room.
func (q *quota) take(n int) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n = min(n, int(q.left))
	q.left -= int64(n)
	return n
}

func (q *quota) free(n int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.left += n
}

func (q *quota) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return q.file(q.FS.Create(name, c))
}

func (q *quota) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return q.file(q.FS.OpenReadWrite(name, c, opts...))
}

// ReuseForWrite takes the file's bytes again, which is harder than a real disk.
func (q *quota) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return q.file(q.FS.ReuseForWrite(from, to, c))
}

func (q *quota) file(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return quotaFile{f, q}, nil
}

func (q *quota) Remove(name string) error {
	info, err := q.Stat(name)
	if err == nil {
		err = q.FS.Remove(name)
	}
	if err == nil {
		q.free(info.Size())
	}
	return err
}

type quotaFile struct {
	vfs.File
	disk *quota
}

func (f quotaFile) Write(p []byte) (int, error) {
	fits := f.disk.take(len(p))
	n, err := f.File.Write(p[:fits])
	if err == nil && fits < len(p) {
		err = syscall.ENOSPC
	}
	return n, err
}

// TestAFullDiskLosesNothingAndGoesOnOnceThereIsRoom fills disks of many sizes,
// tries to open the store while the disk is full, and writes again after space was freed.
func TestAFullDiskLosesNothingAndGoesOnOnceThereIsRoom(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	refused := 0
	for room := int64(100 << 10); room < 600<<10; room += coretest.Heavy(int64(14_002), 7001) {
		q := &quota{FS: vfs.NewMem(), left: room}
		acknowledged := fillUp(t, q)
		for range 2 { // as a user does who doesn't read the hint
			if s, err := open(t.Context(), smallTables(), q); err != nil {
				refused++
				checkFull(t, err)
			} else {
				checkCrowd(t, s, []int64{acknowledged})
				_ = s.Close()
			}
		}
		q.free(1 << 20)
		s := openTest(t, smallTables(), q)
		checkCrowd(t, s, []int64{acknowledged})
		if err := appendEntry(t, s, 0, int(countList(t, s))); err != nil {
			t.Errorf("room %d: after space was freed: %v", room, err)
		}
	}
	if refused == 0 {
		t.Error("no full disk refused to open")
	}
}

// fillUp appends entries until the disk is full, and returns how many were
// acknowledged.
func fillUp(t *testing.T, q *quota) (acknowledged int64) {
	t.Helper()
	s, err := open(t.Context(), smallTables(), q)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		if err = appendEntry(t, s, 0, int(acknowledged)); err == nil {
			acknowledged++
		}
	}
	checkFull(t, err)
	checkFailed(t, s)
	_ = s.Close() // says the same
	return acknowledged
}

func checkFull(t *testing.T, err error) {
	t.Helper()
	if e := sdk.AsError(err); e.Reason != "store_io" || !strings.Contains(e.Hint, "free space") {
		t.Errorf("error %v (%s), hint %q", err, e.Reason, e.Hint)
	}
}

// countList is how many entries the first writer's list has.
func countList(t *testing.T, s *Store) int64 {
	t.Helper()
	length, err := new(failing).read(t, s, 0)
	if err != nil {
		t.Fatal(err)
	}
	return length
}
