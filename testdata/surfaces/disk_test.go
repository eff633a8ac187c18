//go:build linux

package surfaces

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestDisk_Full: on a full disk requests are refused by name, with what to do, and the server isn't
// ready. Once there is space, the same server writes again, and all that was acknowledged is there.
func TestDisk_Full(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=0700,size=16m"); err != nil {
		t.Skipf("no small disk can be mounted here, which root may: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	s := start(t, dir, "")
	c := s.operator()
	content := strings.Repeat("a full disk ", 4000)
	var stored []string
	refused := ""
	for i := range 1000 {
		id := fmt.Sprintf("full-%d", i)
		a, err := c.do("POST", "/v1/memories", map[string]any{"id": id, "namespace": "a", "content": fmt.Sprint(i, content)})
		if err != nil {
			t.Fatalf("after %d memories the server is gone: %v %s", len(stored), err, s.errs.String())
		}
		if a.Status == http.StatusTooManyRequests {
			time.Sleep(time.Second)
			continue
		}
		if a.Status != http.StatusOK {
			refused = fmt.Sprintf("%d %s", a.Status, a.Body)
			break
		}
		stored = append(stored, id)
	}
	if refused == "" {
		t.Fatal("a disk of 16 MiB is never full")
	}
	t.Logf("%d memories, then %s", len(stored), refused)
	if !strings.Contains(refused, `"code":"store_io"`) || !strings.Contains(refused, "free space") {
		t.Errorf("it is refused with %s", refused)
	}
	if a, err := c.do("GET", "/healthz", nil); err != nil || a.Status != http.StatusOK {
		t.Errorf("the server is gone: %d %v", a.Status, err)
	}
	if a, err := c.do("GET", "/readyz", nil); err != nil || a.Status != http.StatusServiceUnavailable || !strings.Contains(string(a.Body), "store_io") {
		t.Errorf("it is ready: %d %s %v", a.Status, a.Body, err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "mode=0700,size=64m"); err != nil {
		t.Fatal(err)
	}
	for waited := 0; ; waited++ {
		if a, err := c.do("GET", "/readyz", nil); err == nil && a.Status == http.StatusOK {
			break
		}
		if waited == 100 {
			t.Fatal("it isn't ready 10 s after there was space")
		}
		time.Sleep(100 * time.Millisecond)
	}
	c.must(t, "POST", "/v1/memories", map[string]any{"id": "later-1", "namespace": "a", "content": "space again"})
	for _, id := range append(stored, "later-1") {
		a, err := c.do("GET", "/v1/memories/"+id, nil)
		for ; err == nil && a.Status == http.StatusTooManyRequests; a, err = c.do("GET", "/v1/memories/"+id, nil) {
			time.Sleep(time.Second)
		}
		if err != nil || a.Status != http.StatusOK {
			t.Errorf("%s was acknowledged, and now: %d %s %v", id, a.Status, a.Body, err)
		}
	}
	s.stop()
	if out, err := command(t, dir, "store", "check"); err != nil {
		t.Errorf("the store: %v %s", err, out)
	}
}
