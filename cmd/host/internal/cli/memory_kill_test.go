//go:build linux

package cli

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/store/pebble"
)

// manyMemories writes a file of so many memories, and returns its path.
func (w *killWorld) manyMemories(count int) string {
	w.t.Helper()
	var lines bytes.Buffer
	for i := range count {
		fmt.Fprintf(&lines, `{"id": "fact-%06d", "namespace": "n%d", "content": "Fact %d is of harbour %d."}`+"\n", i, i%4, i, i%97)
	}
	path := filepath.Join(w.dir, "memories.jsonl")
	if err := os.WriteFile(path, lines.Bytes(), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// killed runs a command line and kills it at a moment of length, the time that it takes. It
// returns false if the command was faster, and length is then the time of this one: a
// machine can be quicker than it was.
func (w *killWorld) killed(length *time.Duration, args ...string) bool {
	w.t.Helper()
	cmd, _ := w.start(args...)
	began, ended := time.Now(), make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	select {
	case <-time.After(rand.N(*length)):
		_ = cmd.Process.Kill()
		<-ended
	case <-ended:
		*length = min(*length, time.Since(began))
	}
	waitEmpty(w.t, cmd.Process.Pid)
	return cmd.ProcessState.ExitCode() != exitPassed
}

// took runs a command line that must pass, and returns how long it took.
func (w *killWorld) took(args ...string) time.Duration {
	w.t.Helper()
	began := time.Now()
	if cmd, _ := w.start(args...); cmd.Wait() != nil {
		w.t.Fatalf("%v: exit %d", args, cmd.ProcessState.ExitCode())
	}
	return time.Since(began)
}

// memories is how many memories the store has, which must be whole.
func (w *killWorld) memories(dataDir string) (count int) {
	w.t.Helper()
	for _, check := range []string{"store check", "audit verify"} {
		var checked struct{ Valid bool }
		if code := w.json(&checked, append(strings.Fields(check), "--data-dir", dataDir)...); code != exitPassed || !checked.Valid {
			w.t.Fatalf("%s: exit %d", check, code)
		}
	}
	for n := range 4 {
		var page memory.Page
		w.json(&page, "memory", "list", "--namespace", fmt.Sprintf("n%d", n), "--limit", "1000", "--data-dir", dataDir)
		count += len(page.Memories)
	}
	return count
}

// batchKills is how many kills of each kind must meet a running command.
const batchKills = 3

func TestAKilledBulkObserveLeavesWholeBatches(t *testing.T) {
	coretest.Long(t)
	const count = 3 * memory.MaxBatch
	w := newKillWorld(t)
	path := w.manyMemories(count)
	length := w.took("memory", "observe", "--file", path)
	for i, hits := 0, 0; hits < batchKills; i++ {
		if i == 10*batchKills {
			t.Fatal("no kill meets a running command")
		}
		data := filepath.Join(w.dir, fmt.Sprintf("data-%d", i))
		if !w.killed(&length, "memory", "observe", "--file", path, "--data-dir", data) {
			continue
		}
		hits++
		if stored := w.memories(data); stored%memory.MaxBatch != 0 {
			t.Errorf("%d memories are stored", stored)
		}
	}
}

func TestAKilledImportLeavesAllOrNothing(t *testing.T) {
	coretest.Long(t)
	const count = 2 * memory.MaxBatch
	w := newKillWorld(t)
	w.took("memory", "observe", "--file", w.manyMemories(count))
	export := filepath.Join(w.dir, "export.jsonl")
	w.took("store", "export", export)
	data := filepath.Join(w.dir, "imported")
	length := w.took("store", "import", export, "--data-dir", data)
	for i, hits := 0, 0; hits < batchKills; i++ {
		if i == 10*batchKills {
			t.Fatal("no kill meets a running command")
		}
		_ = os.RemoveAll(data)
		if !w.killed(&length, "store", "import", export, "--data-dir", data) {
			continue
		}
		hits++
		if stored := w.memories(data); stored != 0 && stored != count {
			t.Errorf("%d memories are imported", stored)
		}
	}
	w.took("store", "import", export, "--data-dir", data, "--replace")
	if left, err := filepath.Glob(data + "/*"); err != nil || len(left) != 1 {
		t.Errorf("a killed import leaves %v (%v)", left, err)
	}
	again := filepath.Join(w.dir, "again.jsonl")
	w.took("store", "export", again, "--data-dir", data)
	first, err := os.ReadFile(export)
	second, errAgain := os.ReadFile(again)
	if err != nil || errAgain != nil || !bytes.Equal(first, second) {
		t.Errorf("the export comes out another: %v, %v", err, errAgain)
	}
}

// TestAKilledImportIntoAStoreLeavesAllOrNothing kills imports of namespaces into a store
// that has a memory of its own, which each finds as the one before left it.
func TestAKilledImportIntoAStoreLeavesAllOrNothing(t *testing.T) {
	coretest.Long(t)
	const count = memory.MaxBatch
	w := newKillWorld(t)
	w.took("memory", "observe", "--file", w.manyMemories(count))
	export := filepath.Join(w.dir, "export.jsonl")
	w.took("store", "export", export)
	data := filepath.Join(w.dir, "data-into")
	into := []string{"store", "import", export, "--into", "--data-dir", data}
	for n := range 4 {
		into = append(into, "--namespace", fmt.Sprintf("n%d", n))
	}
	begin := func() {
		_ = os.RemoveAll(data)
		w.took("memory", "observe", "--namespace", "n-mine", "--id", "mine-1", "--content", "x", "--data-dir", data)
	}
	begin()
	length := w.took(into...)
	begin()
	for i, hits := 0, 0; hits < batchKills; i++ {
		if i == 10*batchKills {
			t.Fatal("no kill meets a running command")
		}
		if !w.killed(&length, into...) {
			begin()
			continue
		}
		hits++
		stored := w.memories(data)
		if stored != 0 && stored != count {
			t.Errorf("%d memories are imported", stored)
		}
		w.took("memory", "get", "mine-1", "--data-dir", data)
		if stored == count {
			begin()
		}
	}
}

func TestASecondProcessIsToldWhoHoldsTheStore(t *testing.T) {
	w := newKillWorld(t)
	w.took("memory", "observe", "--content", "x")
	input, feed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer feed.Close()
	holder, _ := w.startReading(input, "memory", "observe", "--file", "-", "--durability", "relaxed")
	input.Close()
	defer func() {
		_ = holder.Process.Kill()
		_ = holder.Wait()
	}()
	// The first batch opens the store, which stays open for what may follow.
	if _, err := feed.WriteString(strings.Repeat("{\"content\": \"y\"}\n", memory.MaxBatch)); err != nil {
		t.Fatal(err)
	}
	held := host.Status{}
	until(t, "the store is held", func() bool { w.json(&held, "status"); return held.Store.Holder != nil })
	if d := held.Store.Holder.Durability; d != pebble.Relaxed {
		t.Errorf("the holder's durability is %q", d)
	}
	var said struct {
		Error struct {
			Code, Message, Hint string
			Details             struct{ PID int }
		}
	}
	w.json(&said, "memory", "list", "--lock-wait", "0s")
	if e := said.Error; e.Code != "store_locked" || e.Details.PID != holder.Process.Pid || e.Hint == "" || strings.Contains(e.Message, "\n") {
		t.Errorf("%+v", e)
	}
	waiting, _ := w.start("memory", "list", "--lock-wait", "1m")
	feed.Close() // the holder ends
	if err := waiting.Wait(); err != nil {
		t.Errorf("who waits for the holder's end: %v", err)
	}
}
