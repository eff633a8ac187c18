// Package postgrestest runs PostgreSQL clusters for tests, from the binaries of the
// package manager, each in a temporary folder and on its own socket.
//
// Where PostgreSQL isn't installed, and in go test -short, tests that need it are skipped, and
// say so.
//
// It is internal to Reflectory: its API may change in any release.
package postgrestest

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/store/postgres"
)

// Missing is what a skipped test says.
const Missing = "PostgreSQL isn't installed here: install Debian's postgresql, or put initdb, pg_ctl and psql on PATH, to run this test"

// WantedEnv is the variable that has suites of other packages run on PostgreSQL too, where it
// is "1": they run on other engines already, and take some minutes more.
const WantedEnv = "REFLECTORY_TEST_DATABASE"

// Wanted is whether suites of other packages are to run on PostgreSQL too.
func Wanted() bool { return os.Getenv(WantedEnv) == "1" }

// Cluster is a running PostgreSQL with one database, postgres, of the user postgres.
type Cluster struct {
	// Dir has the data in data, the socket, and the log.
	Dir     string
	bin     string
	port    int // in the socket's name
	schemas atomic.Int64
}

// Start starts a cluster that ends with the test. Options are lines of postgresql.conf.
func Start(t testing.TB, options ...string) *Cluster {
	t.Helper()
	c, err := start(find(t), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// Shared is one cluster for all tests of a package, whose TestMain calls [Main]. The zero
// value is ready.
type Shared struct {
	once    sync.Once
	cluster *Cluster
	err     error
}

// Main runs the tests of a package, and ends the shared cluster.
func (s *Shared) Main(m interface{ Run() int }) int {
	defer func() {
		if s.cluster != nil {
			s.cluster.Close()
		}
	}()
	return m.Run()
}

// Cluster returns the shared cluster, which the first test starts. A test that stops it
// starts it again.
func (s *Shared) Cluster(t testing.TB) *Cluster {
	t.Helper()
	bin := find(t)
	if s.once.Do(func() { s.cluster, s.err = start(bin, nil) }); s.err != nil {
		t.Fatal(s.err)
	}
	return s.cluster
}

// Open opens an empty store on the shared cluster, which is closed with the test.
func (s *Shared) Open(t testing.TB) *postgres.Store {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgres.Options{URL: s.Cluster(t).URL(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// OpenOr opens an empty store as [Shared.Open] does where tests run on PostgreSQL, and
// otherwise returns the other.
func (s *Shared) OpenOr(t testing.TB, other core.Store) core.Store {
	t.Helper()
	if Wanted() {
		return s.Open(t)
	}
	return other
}

// find is the folder of the binaries: on PATH, or where Debian has them. The test is skipped
// where there are none, and in go test -short: a server takes seconds to start.
func find(t testing.TB) string {
	t.Helper()
	coretest.Long(t)
	candidates, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.Reverse(candidates) // the newest first
	if path, err := exec.LookPath("pg_ctl"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			candidates = append(candidates, filepath.Dir(path))
		}
	}
	for _, dir := range candidates {
		if slices.IndexFunc([]string{"initdb", "pg_ctl", "psql"}, func(name string) bool {
			_, err := exec.LookPath(filepath.Join(dir, name))
			return err != nil
		}) < 0 {
			return dir
		}
	}
	t.Skip(Missing)
	return ""
}

// config is for many small clusters without a port. A test that goes through hundreds of
// stores keeps their connections to its end.
const config = `
listen_addresses = ''
max_connections = 1000
shared_buffers = 32MB
logging_collector = off
`

// hba lets the user postgres in, and asks others for a password.
const hba = `
local all postgres trust
local all all scram-sha-256
local replication all trust
`

func start(bin string, options []string) (c *Cluster, err error) {
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		return nil, err
	}
	c = &Cluster{Dir: dir, bin: bin, port: 5432}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir)
		}
	}()
	if err := chown(dir); err != nil {
		return nil, err
	}
	if err := c.run("initdb", "-D", c.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"); err != nil {
		return nil, err
	}
	lines := config + "unix_socket_directories = '" + dir + "'\n" + strings.Join(options, "\n") + "\n"
	if err := errors.Join(c.Append("postgresql.conf", lines), os.WriteFile(filepath.Join(c.data(), "pg_hba.conf"), []byte(hba), 0o600)); err != nil {
		return nil, err
	}
	return c, c.Start()
}

func (c *Cluster) data() string { return filepath.Join(c.Dir, "data") }

// Append adds lines to a file of the data folder.
func (c *Cluster) Append(name, lines string) error {
	f, err := os.OpenFile(filepath.Join(c.data(), name), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(lines)
	return errors.Join(err, f.Close())
}

// Start starts the server, and waits until it accepts connections.
func (c *Cluster) Start() error {
	return c.run("pg_ctl", "-D", c.data(), "-l", filepath.Join(c.Dir, "log"), "-w", "start")
}

// Stop stops the server; mode is smart, fast or immediate, which is like a crash.
func (c *Cluster) Stop(mode string) error {
	return c.run("pg_ctl", "-D", c.data(), "-m", mode, "-w", "stop")
}

// Close ends the cluster and removes it.
func (c *Cluster) Close() {
	_ = c.Stop("immediate") // it may be stopped
	_ = os.RemoveAll(c.Dir)
}

// Socket is the file of the server's socket.
func (c *Cluster) Socket() string { return filepath.Join(c.Dir, fmt.Sprintf(".s.PGSQL.%d", c.port)) }

// Database is the URL of the database, in the schema public.
func (c *Cluster) Database() string {
	return fmt.Sprintf("postgres://postgres@/postgres?port=%d&host=%s", c.port, url.QueryEscape(c.Dir))
}

// URL returns the URL of an empty schema.
func (c *Cluster) URL(t testing.TB) string {
	t.Helper()
	schema := fmt.Sprintf("t%d", c.schemas.Add(1))
	c.Exec(t, "create schema "+schema)
	return c.Database() + "&search_path=" + schema
}

// Exec runs SQL as the user postgres, and returns the rows, with | between the columns.
func (c *Cluster) Exec(t testing.TB, sql string) string {
	t.Helper()
	out, err := c.Try(sql)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Try is Exec for SQL that may fail.
func (c *Cluster) Try(sql string) (string, error) {
	cmd := c.command("psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", c.Database(), "-c", sql)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", sql, err, out)
	}
	return string(bytes.TrimSpace(out)), nil
}

func (c *Cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	cmd.Dir = c.Dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "HOME="+c.Dir)
	asUser(cmd)
	return cmd
}

// run runs a program of PostgreSQL. Its output goes to a file, which the server that it
// leaves behind may keep open.
func (c *Cluster) run(name string, args ...string) error {
	out, err := os.CreateTemp("", name)
	if err != nil {
		return err
	}
	defer func() {
		_ = out.Close()
		_ = os.Remove(out.Name())
	}()
	cmd := c.command(name, args...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		said, _ := os.ReadFile(out.Name())
		log, _ := os.ReadFile(filepath.Join(c.Dir, "log"))
		return fmt.Errorf("%s: %w: %s%s", name, err, said, log)
	}
	return nil
}
