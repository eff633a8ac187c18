package postgrestest

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"testing"
)

// Standby starts a standby of the cluster, which follows it, until the test ends.
func (c *Cluster) Standby(t testing.TB) *Cluster {
	t.Helper()
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		t.Fatal(err)
	}
	s := &Cluster{Dir: dir, bin: c.bin, port: c.port}
	t.Cleanup(s.Close)
	err = errors.Join(
		chown(dir),
		s.run("pg_basebackup", "-D", s.data(), "-d", c.Database(), "-R", "-X", "stream", "-c", "fast", "--no-sync"),
		s.Append("postgresql.conf", "unix_socket_directories = '"+dir+"'\n"),
		s.Start(),
	)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// AwaitSync makes the standby synchronous, and waits until it is.
func (c *Cluster) AwaitSync(t testing.TB) {
	t.Helper()
	c.Exec(t, "alter system set synchronous_standby_names = '*'")
	c.Exec(t, "select pg_reload_conf()")
	c.Await(t, "the standby becomes synchronous", "select count(*) = 1 from pg_stat_replication where sync_state = 'sync'")
}

// awaitRounds is how often [Cluster.Await] asks, each time with its own connection: for
// many seconds.
const awaitRounds = 1000

// Await asks until the answer is yes, and ends the test if it never is.
func (c *Cluster) Await(t testing.TB, what, sql string) {
	t.Helper()
	for range awaitRounds {
		if c.Exec(t, sql) == "t" {
			return
		}
	}
	t.Fatal("in vain: " + what)
}

// Promote makes a standby a primary.
func (c *Cluster) Promote() error { return c.run("pg_ctl", "-D", c.data(), "-w", "promote") }

// Either is the URL of the database on whichever of two clusters is the primary.
func (c *Cluster) Either(other *Cluster) string {
	return "postgres://postgres@/postgres?target_session_attrs=read-write&host=" + url.QueryEscape(c.Dir+","+other.Dir)
}

// Log is what the server wrote.
func (c *Cluster) Log() string {
	text, _ := os.ReadFile(filepath.Join(c.Dir, "log"))
	return string(text)
}
