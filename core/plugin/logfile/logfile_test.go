package logfile_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/logfile"
	"github.com/reflectory/reflectory/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func line(name, message string) plugin.LogLine {
	return plugin.LogLine{Time: time.Unix(1, 0).UTC(), Level: "info", Plugin: name, RunID: "run-1", Message: message}
}

func write(t *testing.T, f *logfile.Files, lines ...plugin.LogLine) {
	t.Helper()
	for _, l := range lines {
		if err := f.Write(l); err != nil {
			t.Fatal(err)
		}
	}
}

// messages are the messages of the last n lines, one after the other.
func messages(t *testing.T, dir, name string, n int) string {
	t.Helper()
	lines, err := logfile.Tail(dir, name, n)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, l := range lines {
		all = append(all, l.Message)
	}
	return strings.Join(all, " ")
}

func wantReason(t *testing.T, err error, code sdk.Code, reason string) {
	t.Helper()
	if sdk.CodeOf(err) != code || sdk.ReasonOf(err) != reason || sdk.AsError(err).Hint == "" {
		t.Errorf("got %v (%s, hint %q), want %s, %s", err, sdk.ReasonOf(err), sdk.AsError(err).Hint, code, reason)
	}
}

func TestLinesAreKeptAsTheyAre(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs", "plugins")
	f := logfile.New(logfile.Options{Dir: dir})
	want := line("acme/judge", "<b> & \x1b[2J\n")
	want.Fields, want.Dropped = map[string]any{"left": 3.0}, 7
	write(t, f, want)
	got, err := logfile.Tail(dir, "acme/judge", 10)
	if err != nil || len(got) != 1 {
		t.Fatal(err, got)
	}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Error(diff)
	}
	info, err := os.Stat(filepath.Join(dir, "acme-judge.log"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", err, info)
	}
	for range 2 {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	wantReason(t, f.Write(want), sdk.Unavailable, "log_closed")
}

func TestTailIsOfOnePlugin(t *testing.T) {
	dir := t.TempDir()
	f := logfile.New(logfile.Options{Dir: dir})
	defer f.Close()
	write(t, f, line("a/b-c", "1"), line("a-b/c", "other"), line("a/b-c", "2"), line("d", "else"), line("a/b-c", "3"))
	if err := appendTo(filepath.Join(dir, "a-b-c.log"), "garbage\n{\"plugin\":\"a/b-c\",\"message\":\"torn"); err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]string{1: "3", 2: "2 3", 9: "1 2 3"} {
		if got := messages(t, dir, "a/b-c", n); got != want {
			t.Errorf("the last %d are %q, want %q", n, got, want)
		}
	}
	_, err := logfile.Tail(dir, "nobody", 1)
	wantReason(t, err, sdk.NotFound, "log_not_found")
	for _, name := range []string{"../etc", "a/b/c", "", "A", "a/../b"} {
		_, err := logfile.Tail(dir, name, 1)
		wantReason(t, err, sdk.Invalid, "plugin_name_invalid")
		wantReason(t, f.Write(line(name, "m")), sdk.Invalid, "plugin_name_invalid")
	}
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func TestFullFilesAreMovedAway(t *testing.T) {
	dir := t.TempDir()
	f := logfile.New(logfile.Options{Dir: dir, MaxBytes: 300}) // three lines each
	defer f.Close()
	for i := range 20 {
		write(t, f, line("p", fmt.Sprintf("%02d", i)))
	}
	if got, want := messages(t, dir, "p", 100), "09 10 11 12 13 14 15 16 17 18 19"; got != want {
		t.Errorf("kept are %q, want %q", got, want)
	}
	if got, want := messages(t, dir, "p", 4), "16 17 18 19"; got != want {
		t.Errorf("the last are %q, want %q", got, want)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) != 4 {
		t.Errorf("%v, %v", err, names)
	}
}

// Two hosts write one file, and either may find it full.
func TestWritersShareAFile(t *testing.T) {
	const each = 300
	dir := t.TempDir()
	var all sync.WaitGroup
	for w := range 2 {
		f := logfile.New(logfile.Options{Dir: dir, MaxBytes: 20_000}) // 200 lines
		all.Go(func() {
			defer f.Close()
			for i := range each {
				if err := f.Write(line("p", fmt.Sprint(w, "-", i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	lines, err := logfile.Tail(dir, "p", 10*each)
	if err != nil || len(lines) != 2*each {
		t.Errorf("%v, %d of %d lines are there", err, len(lines), 2*each)
	}
}

func TestALockOfADeadHostIsTakenAway(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "p.log.lock")
	f := logfile.New(logfile.Options{Dir: dir, MaxBytes: 300})
	defer f.Close()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		write(t, f, line("p", fmt.Sprint(i)))
	}
	if _, err := os.Stat(filepath.Join(dir, "p.log.1")); err == nil {
		t.Error("a file was moved away that another host had locked")
	}
	long := time.Now().Add(-time.Minute)
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
	write(t, f, line("p", "5"), line("p", "6"))
	if got := messages(t, dir, "p", 9); got != "0 1 2 3 4 5 6" {
		t.Errorf("kept are %q", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "p.log.1")); err != nil {
		t.Errorf("the lock still holds: %v", err)
	}
}

func TestFollowShowsWhatIsAdded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		f := logfile.New(logfile.Options{Dir: dir, MaxBytes: 300})
		defer f.Close()
		write(t, f, line("p", "before"))
		ctx, cancel := context.WithCancel(t.Context())
		var got []string
		ended := make(chan error, 1)
		go func() {
			ended <- logfile.Follow(ctx, dir, "p", func(l plugin.LogLine) error { got = append(got, l.Message); return nil })
		}()
		synctest.Wait()
		want := []string{}
		for i := range 10 {
			message := fmt.Sprintf("%02d", i)
			want = append(want, message)
			write(t, f, line("p", message), line("q", "another's"))
			time.Sleep(time.Second)
			synctest.Wait()
		}
		cancel()
		if err := <-ended; err != nil || !cmp.Equal(want, got) {
			t.Errorf("%v, %s", err, cmp.Diff(want, got))
		}
	})
}

func TestFollowWaitsForALogAndForWholeLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, "p.log")
		full := errors.New("full")
		var got []string
		ended := make(chan error, 1)
		go func() {
			ended <- logfile.Follow(t.Context(), dir, "p", func(l plugin.LogLine) error {
				if got = append(got, l.Message); len(got) == 2 {
					return full
				}
				return nil
			})
		}()
		synctest.Wait()
		if err := os.WriteFile(path, []byte(strings.Repeat("x", 1<<20)+"\n{\"plugin\":\"p\",\"mess"), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if err := appendTo(path, "age\":\"1\"}\n{\"plugin\":\"p\",\"message\":\"2\"}\n"); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, full) || !cmp.Equal(got, []string{"1", "2"}) {
			t.Errorf("%v, %v", err, got)
		}
	})
}
