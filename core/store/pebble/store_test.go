package pebble

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/core/store/mem"
	"github.com/reflectory/reflectory/core/store/storetest"
	"github.com/reflectory/reflectory/sdk"
)

// holderEnv makes the test binary a program that holds a store.
const holderEnv = "REFLECTORY_TEST_HOLD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(holderEnv); dir != "" {
		os.Exit(hold(dir))
	}
	// Pebble leaves this one behind when its Open fails, and has no way to end it.
	goleak.VerifyTestMain(coretest.WithPlain(m), goleak.IgnoreTopFunction("github.com/cockroachdb/pebble/v2.(*ConcurrencyLimitScheduler).periodicGranter"))
}

// hold opens a store, says so, and keeps it until its input ends.
func hold(dir string) int {
	s, err := Open(context.Background(), Options{Dir: dir, Program: "holder", Clock: fixedClock{}})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("open")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	if s.Close() != nil {
		return 1
	}
	return 0
}

func TestModel(t *testing.T) {
	fs := vfs.NewMem()
	o := Options{Dir: "db", MemTableBytes: 64 << 10}
	storetest.Model(t, mem.Open(), openTest(t, o, fs), func(s core.Store) core.Store {
		if err := s.(*Store).Close(); err != nil {
			t.Fatal(err)
		}
		return openTest(t, o, fs)
	})
}

func TestSecondProcessLearnsTheHolder(t *testing.T) {
	dir := t.TempDir()
	holder := exec.Command(os.Args[0])
	holder.Env = append(os.Environ(), holderEnv+"="+dir)
	in, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if line != "open\n" {
		t.Fatalf("the holder says %q, error %v", line, err)
	}
	_, err = Open(t.Context(), Options{Dir: dir})
	want := fmt.Sprintf("the store in %s is in use by holder (pid %d) since 2026-11-21T12:00:00Z", dir, holder.Process.Pid)
	if sdk.CodeOf(err) != sdk.Conflict || sdk.ReasonOf(err) != "store_locked" || err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
	if strings.Contains(fmt.Sprint(err), "\n") || sdk.AsError(err).Hint == "" {
		t.Errorf("not one line with a hint: %q", err)
	}
	_ = in.Close()
	if err := holder.Wait(); err != nil {
		t.Error(err)
	}
	openTest(t, Options{Dir: dir}, vfs.Default)
}

func TestSameProcessIsRefused(t *testing.T) {
	o := Options{Dir: t.TempDir(), Program: "twice"}
	openTest(t, o, vfs.Default)
	_, err := Open(t.Context(), o)
	if sdk.ReasonOf(err) != "store_locked" || !strings.Contains(err.Error(), fmt.Sprintf("twice (pid %d)", os.Getpid())) {
		t.Errorf("error %v", err)
	}
}

func TestStaleOrHostileHolderFileIsNoLock(t *testing.T) {
	for _, text := range []string{`{"pid":1,"program":"gone"}`, "{", strings.Repeat("x", 1<<20), ""} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, holderFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		openTest(t, Options{Dir: dir}, vfs.Default)
	}
}

func TestCloseIsIdempotentAndFinal(t *testing.T) {
	s := openTest(t, Options{Dir: t.TempDir()}, vfs.Default)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	err := s.Update(t.Context(), func(core.Tx) error { return nil })
	if sdk.ReasonOf(err) != "store_closed" {
		t.Errorf("Update after Close: %v", err)
	}
	if _, err := os.Stat(filepath.Join(s.options.Dir, holderFile)); !os.IsNotExist(err) {
		t.Errorf("the holder file: %v", err)
	}
}

func TestCloseWaitsForTransactions(t *testing.T) {
	s := openTest(t, Options{Dir: t.TempDir()}, vfs.Default)
	inside, closed := make(chan struct{}), make(chan error)
	go func() {
		<-inside
		closed <- s.Close()
	}()
	err := s.Update(t.Context(), func(tx core.Tx) error {
		close(inside)
		return tx.Put([]byte("a"), []byte("1"))
	})
	if err != nil {
		t.Errorf("Update while closing: %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// TestManyWritesAreHeldBackAndEnd writes several times what memory may hold.
func TestManyWritesAreHeldBackAndEnd(t *testing.T) {
	for _, d := range []Durability{Full, Relaxed} {
		s := openTest(t, Options{Dir: "db", Durability: d, MemTableBytes: 1 << 20}, vfs.NewMem())
		value := make([]byte, 256<<10)
		for i := range 100 {
			err := s.Update(t.Context(), func(tx core.Tx) error { return tx.Put(fmt.Appendf(nil, "k/%d", i), value) })
			if err != nil {
				t.Fatal(err)
			}
			if size := s.db.Metrics().MemTable.Size; size > 8<<20 {
				t.Fatalf("%d bytes wait in memory", size)
			}
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []Options{
		{}, {Dir: "x", Durability: "maybe"}, {Dir: "x", CacheBytes: -1}, {Dir: "x", LockWait: -1}, {Dir: "x", MemTableBytes: 1 << 40},
	} {
		if _, err := Open(t.Context(), o); sdk.ReasonOf(err) != "store_options_invalid" {
			t.Errorf("Open(%+v): %v", o, err)
		}
	}
}

func TestRelaxedLosesAtMostTheNewest(t *testing.T) {
	fs := newMemDisk()
	s := openTest(t, Options{Dir: "db", Durability: Relaxed}, fs)
	if s.Durability() != Relaxed {
		t.Errorf("durability %q", s.Durability())
	}
	if err := play(t.Context(), s, func(int) {}); err != nil {
		t.Fatal(err)
	}
	checkHistory(t, s, len(scenario())+1)
	crashed := openTest(t, Options{Dir: "db"}, fs.CrashClone(vfs.CrashCloneCfg{}))
	checkHistory(t, crashed, countEntries(t, crashed))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	checkHistory(t, openTest(t, Options{Dir: "db"}, fs.CrashClone(vfs.CrashCloneCfg{})), len(scenario())+1)
}

// update rewrites the store of the newest format in testdata. It is for the day
// on which a format is born; a released one must not change.
var update = flag.Bool("update-format", false, "write testdata/format-N of the newest format")

func TestOpensEveryReleasedFormat(t *testing.T) {
	if *update {
		writeFormat(t, filepath.Join("testdata", fmt.Sprintf("format-%d", store.Format)))
	}
	for n := 2; n <= store.Format; n++ { // 2 is the first that a release writes
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", fmt.Sprintf("format-%d", n)))); err != nil {
			t.Fatal(err)
		}
		checkHistory(t, openTest(t, Options{Dir: dir}, vfs.Default), len(scenario())+1)
	}
}

func writeFormat(t *testing.T, dir string) {
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := play(t.Context(), s, func(int) {}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestNewerFormatIsRefusedAndLetGo(t *testing.T) {
	o := Options{Dir: t.TempDir()}
	s := openTest(t, o, vfs.Default)
	err := s.Update(t.Context(), func(tx core.Tx) error { return tx.Put([]byte("meta/format"), []byte("9")) })
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time shows that the lock was released
		if _, err := Open(t.Context(), o); sdk.ReasonOf(err) != "store_format_newer" {
			t.Errorf("Open: %v", err)
		}
	}
}

func TestHolderIsJSON(t *testing.T) {
	s := openTest(t, Options{Dir: t.TempDir(), Program: "p", Clock: fixedClock{}}, vfs.Default)
	data, err := os.ReadFile(filepath.Join(s.options.Dir, holderFile))
	if err != nil {
		t.Fatal(err)
	}
	var h Holder
	if err := json.Unmarshal(data, &h); err != nil || h.PID != os.Getpid() || h.Program != "p" || h.Durability != Full {
		t.Errorf("holder %s, error %v", data, err)
	}
}
