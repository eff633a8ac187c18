package postgrestest

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// MissingPooler is what a skipped test says.
const MissingPooler = "pgbouncer isn't installed here: install Debian's pgbouncer, or put it on PATH, to run this test"

// Pooler runs a pgbouncer that pools transactions in front of the cluster, until the test
// ends. It returns the URL of an empty database behind it, which may take a moment until it
// can be reached.
func (c *Cluster) Pooler(t testing.TB) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		if program, err = exec.LookPath("/usr/sbin/pgbouncer"); err != nil {
			t.Skip(MissingPooler)
		}
	}
	database := fmt.Sprintf("pooled%d", c.schemas.Add(1))
	c.Exec(t, "create database "+database)
	dir, err := os.MkdirTemp("", "pgb") // short, as a socket's path must be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	settings := fmt.Sprintf(`[databases]
* = host=%s user=postgres
[pgbouncer]
pool_mode = transaction
default_pool_size = 12
auth_type = any
listen_addr =
unix_socket_dir = %s
logfile = %s/log
`, c.Dir, dir, dir)
	ini := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(ini, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{dir, ini} {
		if err := chown(name); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program, "-q", ini)
	cmd.Dir = dir
	asUser(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if log, err := os.ReadFile(filepath.Join(dir, "log")); err == nil && t.Failed() {
			t.Logf("pgbouncer's log:\n%s", log)
		}
	})
	return "postgres://postgres@/" + database + "?port=6432&host=" + url.QueryEscape(dir)
}
