package postgres_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/store/postgres"
	"github.com/reflectory/reflectory/core/store/postgres/postgrestest"
	"github.com/reflectory/reflectory/sdk"
)

// refused checks that an error is one clear line with a hint.
func refused(t *testing.T, what string, err error, reason string) {
	t.Helper()
	if e := sdk.AsError(err); e == nil || e.Reason != reason || strings.Contains(e.Error(), "\n") || e.Hint == "" {
		t.Errorf("%s: %v; want %s, in one line with a hint", what, err, reason)
	}
}

// opens opens a store and writes once.
func opens(ctx context.Context, url string) error {
	s, err := postgres.Open(ctx, postgres.Options{URL: url, Wait: -1})
	if err != nil {
		return err
	}
	err = s.Update(ctx, func(tx core.Tx) error { return tx.Put([]byte("k"), nil) })
	return errors.Join(err, s.Close())
}

// The server's certificate is checked up to the CA and the name, and the password comes from
// a file.
func TestOpen_TLSAndPassfile(t *testing.T) {
	c := postgrestest.Start(t)
	port, ca := c.ListenTLS(t)
	c.Exec(t, `create user ada password 'pass:word'`)
	c.Exec(t, `create schema ada authorization ada`) // which is on ada's search path
	dir := t.TempDir()
	passfile := func(name, password string) {
		t.Helper()
		file := filepath.Join(dir, name)
		line := fmt.Sprintf("*:%d:postgres:ada:%s\n", port, strings.ReplaceAll(password, ":", `\:`))
		if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PGPASSFILE", file)
	}
	url := func(host, parameters string) string {
		return fmt.Sprintf("postgres://ada@%s:%d/postgres?%s", host, port, parameters)
	}
	other := filepath.Join(dir, "other.pem")
	postgrestest.NewCA(t, other)
	full := "sslmode=verify-full&sslrootcert="
	passfile("right", "pass:word")
	if err := opens(t.Context(), url("localhost", full+ca)); err != nil {
		t.Errorf("with TLS and a passfile: %v", err)
	}
	refused(t, "another name", opens(t.Context(), url("127.0.0.1", full+ca)), "store_tls")
	refused(t, "another CA", opens(t.Context(), url("localhost", full+other)), "store_tls")
	refused(t, "no TLS", opens(t.Context(), url("localhost", "sslmode=disable")), "store_login_refused")
	passfile("wrong", "password")
	refused(t, "another password", opens(t.Context(), url("localhost", full+ca)), "store_login_refused")
	passfile("empty", "")
	refused(t, "no password", opens(t.Context(), url("localhost", full+ca)), "store_login_refused")
}

// A session keeps the statements of commits, which saves the database half of its work.
func TestNamed_StatementsAreKept(t *testing.T) {
	s := open(t, postgres.Options{URL: shared.Cluster(t).URL(t)})
	commits(t, s, 2)
	if !s.KeepsStatements() {
		t.Error("each commit is parsed and planned again")
	}
}

// A pooler gives each transaction a connection, which others had before and have after it.
func TestPooler_OfTransactions(t *testing.T) {
	c := shared.Cluster(t)
	url := c.Pooler(t)
	s, other := open(t, postgres.Options{URL: url}), open(t, postgres.Options{URL: url})
	appenders(t, s, func() {
		for i := range rounds(4, 100) {
			commits(t, other, 3)
			if i%2 == 0 { // the pooler's own connections end too
				c.Exec(t, "select pg_terminate_backend(pid) from pg_stat_activity where datname like 'pooled%'")
			}
			err := other.View(t.Context(), func(r core.Reader) error {
				count, _, err := r.Get([]byte("commits"))
				if want := 3 * (i + 1); len(count) != want {
					t.Errorf("a view after %d commits sees %d", want, len(count))
				}
				return errors.Join(err, core.ScanPrefix(r, []byte("list/"), func(_, _ []byte) (bool, error) { return true, nil }))
			})
			if err != nil {
				t.Error(err)
			}
		}
	})
}

// A disk that is really full refuses commits, loses none, and takes more once there is room.
func TestFailure_FullTablespace(t *testing.T) {
	c := shared.Cluster(t)
	disk := postgrestest.SmallDisk(t, "8m")
	url := c.URL(t)
	s, schema := open(t, postgres.Options{URL: url}), schemaOf(url)
	c.Exec(t, "create tablespace small location '"+disk+"'")
	c.Exec(t, "alter table "+schema+".kv set tablespace small")
	put := func(n int) error {
		value := make([]byte, 1<<20)
		_, _ = rand.Read(value)
		return s.Update(t.Context(), func(tx core.Tx) error { return tx.Put(fmt.Appendf(nil, "big/%d", n), value) })
	}
	kept := 0
	var err error
	for ; err == nil && kept < 64; kept++ {
		err = put(kept)
	}
	kept-- // of the last one there is nothing
	refused(t, "a full disk", err, "store_disk_full")
	c.Exec(t, "alter table "+schema+".kv set tablespace pg_default")
	c.Exec(t, "drop tablespace small")
	if err := put(kept); err != nil {
		t.Errorf("with room again: %v", err)
	}
	found := 0
	err = s.View(t.Context(), func(r core.Reader) error {
		return core.ScanPrefix(r, []byte("big/"), func(_, value []byte) (bool, error) { found++; return true, nil })
	})
	if err != nil || found != kept+1 || kept == 0 {
		t.Errorf("%d of %d values are there: %v", found, kept+1, err)
	}
}

// After a failover to a synchronous standby, nothing that was acknowledged is lost, and no
// call fails.
func TestFailover_Synchronous(t *testing.T) {
	primary, standby := pair(t)
	primary.AwaitSync(t)
	refused(t, "a standby", opens(t.Context(), standby.Database()), "store_read_only")
	s := open(t, postgres.Options{URL: primary.Either(standby)})
	appenders(t, s, func() {
		commits(t, s, 20)
		if err := errors.Join(primary.Stop("immediate"), standby.Promote()); err != nil {
			t.Error(err)
		}
		commits(t, s, 20)
	})
}

// After a failover to a standby that lacks commits, no host writes from a cache of them.
func TestFailover_Asynchronous(t *testing.T) {
	primary, standby := pair(t)
	s := open(t, postgres.Options{URL: primary.Either(standby)})
	commits(t, s, 5)
	primary.Await(t, "the standby follows", "select count(*) = 1 from pg_stat_replication where replay_lsn >= pg_current_wal_lsn()")
	standby.Exec(t, "alter system set primary_conninfo = ''")
	standby.Exec(t, "select pg_reload_conf()")
	standby.Await(t, "the standby follows no more", "select count(*) = 0 from pg_stat_wal_receiver")
	commits(t, s, 3) // which are lost
	if err := errors.Join(primary.Stop("immediate"), standby.Promote()); err != nil {
		t.Fatal(err)
	}
	commits(t, s, 1)
	err := s.View(t.Context(), func(r core.Reader) error {
		count, _, err := r.Get([]byte("commits"))
		if len(count) != 6 {
			t.Errorf("after 5 commits, 3 that were lost and 1, there are %d", len(count))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// pair is a primary and a standby.
func pair(t *testing.T) (primary, standby *postgrestest.Cluster) {
	t.Helper()
	primary = postgrestest.Start(t)
	return primary, primary.Standby(t)
}
