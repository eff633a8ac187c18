package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/store/postgres"
	"github.com/reflectory/reflectory/core/store/postgres/postgrestest"
	"github.com/reflectory/reflectory/core/store/storetest"
	"github.com/reflectory/reflectory/sdk"
)

// TestView_OfAStoppedHost: while a host is suspended in the middle of a view it holds no lock of
// a key, and after a while, which is short here, the database ends the view, so that it can
// clean up. If the host continues, its call fails, and its next view is a new one.
func TestView_OfAStoppedHost(t *testing.T) {
	cluster := shared.Cluster(t)
	s := open(t, postgres.Options{URL: cluster.URL(t) + "&application_name=stopped"})
	s.EndViewsAfter(200 * time.Millisecond)
	key := []byte("key")
	if err := s.Update(t.Context(), func(tx core.Tx) error { return tx.Put(key, []byte("value")) }); err != nil {
		t.Fatal(err)
	}
	read := func(r core.Reader) error {
		value, _, err := r.Get(key)
		if err == nil && string(value) != "value" {
			t.Errorf("the key has %q", value)
		}
		return err
	}
	err := s.View(t.Context(), func(r core.Reader) error {
		if err := read(r); err != nil {
			return err
		}
		if n := cluster.Exec(t, `select count(*) from pg_locks join pg_stat_activity using (pid)
			where application_name = 'stopped' and locktype = 'advisory'`); n != "0" {
			t.Errorf("a host that is suspended in a view holds %s locks", n)
		}
		awaitSessions(t, cluster, "exists", "application_name = 'stopped' and state = 'idle in transaction'")
		return read(r)
	})
	if sdk.ReasonOf(err) != "store_view_lost" || !sdk.Transient(err) {
		t.Errorf("the view that was ended: %v", err)
	}
	if err := s.View(t.Context(), read); err != nil {
		t.Errorf("the next view: %v", err)
	}
}

// TestView_OfAHostThatStopsInAnAnswer: the database ends the view too if the host is suspended
// while it reads a value that is larger than what is kept for it on the way. It is a part of
// make scale only, since it needs a cluster of its own.
func TestView_OfAHostThatStopsInAnAnswer(t *testing.T) {
	if !coretest.Stress() {
		return
	}
	cluster := postgrestest.Start(t)
	port, ca := cluster.ListenTLS(t)
	cluster.Exec(t, `create user stopped password 'secret'`)
	cluster.Exec(t, `create schema stopped authorization stopped`)
	t.Setenv("PGPASSWORD", "secret")
	s := open(t, postgres.Options{URL: fmt.Sprintf("postgres://stopped@localhost:%d/postgres?sslmode=verify-full&sslrootcert=%s", port, ca)})
	s.EndViewsAfter(time.Second)
	key := []byte("key")
	if err := s.Update(t.Context(), func(tx core.Tx) error { return tx.Put(key, make([]byte, 32<<20)) }); err != nil {
		t.Fatal(err)
	}
	begin, end, read := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	s.StopReading(begin, end)
	goOn := sync.OnceFunc(func() { close(end) })
	defer goOn()
	go func() {
		read <- s.View(t.Context(), func(r core.Reader) error {
			_, _, err := r.Get([]byte("none"))
			close(begin)
			if err == nil {
				_, _, err = r.Get(key)
			}
			return err
		})
	}()
	for _, is := range []string{"not exists", "exists"} { // it sends, and then is gone
		awaitSessions(t, cluster, is, "usename = 'stopped' and wait_event = 'ClientWrite'")
	}
	goOn()
	if err := <-read; sdk.ReasonOf(err) != "store_view_lost" {
		t.Errorf("the view, once the host goes on: %v", err)
	}
}

// awaitSessions waits for as long as sessions of a kind exist, or don't.
func awaitSessions(t *testing.T, cluster *postgrestest.Cluster, while, which string) {
	t.Helper()
	cluster.Exec(t, `set statement_timeout = '5min';
		do $$ begin
			while `+while+` (select from pg_stat_activity where `+which+`) loop
				perform pg_sleep(0.05), pg_stat_clear_snapshot();
			end loop;
		end $$`)
}

// appenders append numbered entries to lists and to a stream of the journal while harm is
// done, and then verify that each acknowledged entry is there once.
func appenders(t *testing.T, s core.Store, harm func()) {
	t.Helper()
	const writers = 8
	stop := make(chan struct{})
	var counts [writers]int
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			key := fmt.Appendf(nil, "list/%d", w%4) // each list has two writers
			for i := 0; ; i++ {
				select {
				case <-stop:
					counts[w] = i
					return
				default:
				}
				err := s.Update(context.Background(), func(tx core.Tx) error {
					list, _, err := tx.Get(key)
					return errors.Join(err, tx.Put(key, fmt.Appendf(list, " %d.%d", w, i)))
				})
				if err != nil {
					t.Errorf("writer %d, entry %d: %v", w, i, err)
					counts[w] = i
					return
				}
			}
		})
	}
	harm()
	close(stop)
	all.Wait()
	found := map[string]int{}
	err := s.View(t.Context(), func(r core.Reader) error {
		return core.ScanPrefix(r, []byte("list/"), func(_, value []byte) (bool, error) {
			for _, name := range strings.Fields(string(value)) {
				found[name]++
			}
			return true, nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for w, n := range counts {
		total += n
		for i := range n {
			if name := strconv.Itoa(w) + "." + strconv.Itoa(i); found[name] != 1 {
				t.Errorf("the acknowledged entry %s is there %d times", name, found[name])
			}
		}
	}
	if len(found) != total || total == 0 {
		t.Errorf("%d entries are there, %d were acknowledged", len(found), total)
	}
}

// rounds is how often harm is done: few times, or many in a stress test.
func rounds(few, many int) int {
	if os.Getenv(storetest.StressEnv) == "1" {
		return many
	}
	return few
}

func TestFailure_ImmediateRestart(t *testing.T) {
	c := shared.Cluster(t)
	s := open(t, postgres.Options{URL: c.URL(t)})
	appenders(t, s, func() {
		for range rounds(1, 10) {
			commits(t, s, 10)
			if err := errors.Join(c.Stop("immediate"), c.Start()); err != nil {
				t.Error(err)
			}
		}
		commits(t, s, 10)
	})
}

func TestFailure_CutConnections(t *testing.T) {
	c := shared.Cluster(t)
	p := c.Proxy(t)
	s := open(t, postgres.Options{URL: p.URL(t)})
	appenders(t, s, func() {
		for range rounds(10, 200) {
			commits(t, s, 3)
			p.Cut()
		}
		commits(t, s, 3)
	})
}

// commits makes so many commits, next to the appenders' commits.
func commits(t *testing.T, s *postgres.Store, n int) {
	t.Helper()
	for range n {
		err := s.Update(t.Context(), func(tx core.Tx) error {
			value, _, err := tx.Get([]byte("commits"))
			return errors.Join(err, tx.Put([]byte("commits"), append(value, 'x')))
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// The journal's chains verify after a crash, no matter which host wrote them.
func TestFailure_ChainsVerify(t *testing.T) {
	c := shared.Cluster(t)
	url := c.URL(t)
	var hosts [2]*postgres.Store
	for i := range hosts {
		hosts[i] = open(t, postgres.Options{URL: url})
	}
	var all sync.WaitGroup
	for i := range 8 {
		w := &journal.Writer{Store: hosts[i%2], Clock: &coretest.Clock{}}
		all.Go(func() {
			for range 10 {
				err := w.Update(t.Context(), func(tx *journal.Tx) error { return tx.Append("stream", journal.HeadsRecorded{}) })
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	if err := errors.Join(c.Stop("immediate"), c.Start()); err != nil {
		t.Error(err)
	}
	all.Wait()
	err := hosts[0].View(t.Context(), func(r core.Reader) error {
		if head, err := journal.ReadHead(r, "stream"); err != nil || head.Seq != 80 {
			t.Errorf("the stream's head is %v, %v", head, err)
		}
		return journal.Checker{}.Check(t.Context(), r, func(p core.Problem) { t.Error(p) })
	})
	if err != nil {
		t.Error(err)
	}
}

// A database that is away is waited for, and then reported in one line.
func TestFailure_Unreachable(t *testing.T) {
	c := shared.Cluster(t)
	p := c.Proxy(t)
	s := open(t, postgres.Options{URL: p.URL(t), Wait: 50 * time.Millisecond})
	put := func() error {
		return s.Update(t.Context(), func(tx core.Tx) error { return tx.Put([]byte("k"), nil) })
	}
	if err := put(); err != nil {
		t.Fatal(err)
	}
	p.Refuse(true)
	for range 3 {
		err := put()
		if reason := sdk.ReasonOf(err); reason != "store_unreachable" && reason != "store_outcome_unknown" {
			t.Errorf("a database that is away: %v", err)
		}
	}
	if s.DownSince().IsZero() {
		t.Error("the store doesn't know that the database is away")
	}
	p.Refuse(false)
	if err := put(); err != nil || !s.DownSince().IsZero() {
		t.Errorf("after it came back: %v", err)
	}
}

// What can't be the store is refused when it is opened, each with one clear line that
// doesn't have the password.
func TestOpen_Refuses(t *testing.T) {
	c := shared.Cluster(t)
	c.Exec(t, "create user ada password 'right'; create schema app authorization ada")
	ada := strings.Replace(c.Database(), "postgres@", "ada@", 1)
	for _, test := range []struct {
		name, url, password, before, after, reason string
	}{
		{name: "password", url: ada, password: "wrong", reason: "store_login_refused"},
		{name: "missing database", url: strings.Replace(c.Database(), "/postgres?", "/none?", 1), reason: "store_database_missing"},
		{name: "permission", url: ada, password: "right", reason: "store_permission"},
		{name: "fsync", before: "alter system set fsync = off", after: "alter system reset fsync", reason: "store_database_unfit"},
		{name: "synchronous_commit", before: "alter system set synchronous_commit = off", after: "alter system reset synchronous_commit", reason: "store_database_unfit"},
		{name: "isolation", before: "alter system set default_transaction_isolation = serializable", after: "alter system reset default_transaction_isolation", reason: "store_database_unfit"},
		{name: "read-only", before: "alter system set default_transaction_read_only = on", after: "alter system reset default_transaction_read_only", reason: "store_read_only"},
		{name: "password in the URL", url: strings.Replace(c.Database(), "postgres@", "postgres:secret@", 1), reason: "store_url_password"},
		{name: "another scheme", url: "mysql://postgres@localhost/x", reason: "store_url_invalid"},
		{name: "unreachable", url: "postgres://postgres@127.0.0.1:1/x?sslmode=disable", reason: "store_unreachable"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("PGPASSWORD", test.password)
			if test.before != "" {
				reload(t, c, test.before)
				defer reload(t, c, test.after)
			}
			if test.url == "" {
				test.url = c.Database()
			}
			s, err := postgres.Open(t.Context(), postgres.Options{URL: test.url, Wait: -1})
			if err == nil {
				_ = s.Close()
			}
			e := sdk.AsError(err)
			if e == nil || e.Reason != test.reason || strings.Contains(e.Error(), "\n") || e.Hint == "" {
				t.Fatalf("%v: want %s, in one line with a hint", err, test.reason)
			}
			if text := e.Error() + e.Hint; strings.Contains(text, "secret") || strings.Contains(text, "wrong") {
				t.Errorf("%q has the password", text)
			}
		})
	}
}

// reload changes a setting, and waits until new sessions have it.
func reload(t *testing.T, c *postgrestest.Cluster, sql string) {
	t.Helper()
	c.Exec(t, sql)
	c.Exec(t, "select pg_reload_conf()")
	name := strings.Fields(strings.TrimPrefix(strings.TrimPrefix(sql, "alter system set "), "alter system reset "))[0]
	for range 200 {
		if c.Exec(t, "select pending_restart or sourcefile is not null from pg_settings where name = '"+name+"'") == "t" == strings.Contains(sql, "alter system set") {
			return
		}
	}
	t.Fatalf("%s isn't in effect", sql)
}

// A disk that is full refuses one commit, and the next one works once there is room.
func TestFailure_DiskFull(t *testing.T) {
	c := shared.Cluster(t)
	url := c.URL(t)
	s, schema := open(t, postgres.Options{URL: url}), schemaOf(url)
	c.Exec(t, `create or replace function full_disk() returns trigger language plpgsql as $$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$`)
	c.Exec(t, `create trigger full_disk before insert on `+schema+`.kv execute function full_disk()`)
	put := func() error {
		return s.Update(t.Context(), func(tx core.Tx) error { return tx.Put([]byte("k"), nil) })
	}
	if err := put(); sdk.ReasonOf(err) != "store_disk_full" {
		t.Errorf("on a full disk: %v", err)
	}
	c.Exec(t, `drop trigger full_disk on `+schema+`.kv`)
	if err := put(); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

// A purge leaves no row behind, live or dead.
func TestScrub_Vacuums(t *testing.T) {
	c := shared.Cluster(t)
	url := c.URL(t)
	s, schema := open(t, postgres.Options{URL: url}), schemaOf(url)
	update := func(fn func(core.Tx) error) {
		t.Helper()
		if err := s.Update(t.Context(), fn); err != nil {
			t.Fatal(err)
		}
	}
	update(func(tx core.Tx) error { return tx.Put([]byte("memory/a"), []byte("plain as day")) })
	update(func(tx core.Tx) error {
		return errors.Join(tx.Delete([]byte("memory/a")), s.MarkPurged(tx, "a", nil))
	})
	if held, err := s.Scrub(t.Context()); err != nil || held != "" {
		t.Fatalf("Scrub: %q, %v", held, err)
	}
	c.Exec(t, "create extension if not exists pageinspect")
	if rows := c.Exec(t, "select count(*) from public.heap_page_items(public.get_raw_page('"+schema+".kv', 0)) where t_data is not null and position('plain as day' in encode(t_data, 'escape')) > 0"); rows != "0" {
		t.Errorf("%s dead rows have the purged text", rows)
	}
	err := s.View(t.Context(), func(r core.Reader) error {
		return core.ScanPrefix(r, []byte("meta/purged/"), func(key, _ []byte) (bool, error) {
			t.Errorf("the mark %s is left", key)
			return true, nil
		})
	})
	if err != nil {
		t.Error(err)
	}
}

// schemaOf is the schema of a URL of the cluster.
func schemaOf(url string) string {
	_, schema, _ := strings.Cut(url, "search_path=")
	return schema
}
