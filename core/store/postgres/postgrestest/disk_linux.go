package postgrestest

import (
	"os"
	"syscall"
	"testing"
)

// SmallDisk mounts a disk of so many bytes, such as 8m, for a tablespace, and unmounts it
// when the test ends. Only root may: another's test is skipped.
func SmallDisk(t testing.TB, size string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "disk")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=0700,size="+size); err != nil {
		t.Skipf("this user may not mount a small disk here (%v): run the test as root", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	if err := chown(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}
