package logfile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
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
	lines, _, err := logfile.Tail(dir, name, n)
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
	got, _, err := logfile.Tail(dir, "acme/judge", 10)
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
	_, _, err := logfile.Tail(dir, "nobody", 1)
	wantReason(t, err, sdk.NotFound, "log_not_found")
	for _, name := range []string{"../etc", "a/b/c", "", "A", "a/../b"} {
		_, _, err := logfile.Tail(dir, name, 1)
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
	lines, _, err := logfile.Tail(dir, "p", 10*each)
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

// after are the messages after a place, and the place behind them.
func after(t *testing.T, dir, name string, from logfile.Position, n int) (string, logfile.Position) {
	t.Helper()
	same, err := logfile.ParsePosition(from.String())
	if err != nil || same != from {
		t.Fatalf("%v is %v as a text: %v", from, same, err)
	}
	lines, end, err := logfile.After(dir, name, from, n)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, l := range lines {
		all = append(all, l.Message)
	}
	return strings.Join(all, " "), end
}

// TestAfter_MissesNoLine over files that are moved away, however few lines are asked for at a
// time; a place whose file is gone is before the oldest line.
func TestAfter_MissesNoLine(t *testing.T) {
	dir := t.TempDir()
	f := logfile.New(logfile.Options{Dir: dir, MaxBytes: 300}) // three lines each
	defer f.Close()
	got, begin := after(t, dir, "p", logfile.Position{}, 9)
	if got != "" || begin != (logfile.Position{}) {
		t.Fatalf("a log that isn't there has %q", got)
	}
	write(t, f, line("p", "before"))
	_, place, err := logfile.Tail(dir, "p", 1)
	if err != nil {
		t.Fatal(err)
	}
	all, few, slow := []string{}, place, place
	for i := range 20 {
		write(t, f, line("p", fmt.Sprintf("%02d", i)), line("q", "another's"))
		got, place = after(t, dir, "p", place, 9)
		all = append(all, got)
		if i%3 == 2 { // what came since is asked for by one line
			for range 3 {
				got, few = after(t, dir, "p", few, 1)
				if want := all[len(all)-3:]; !slices.Contains(want, got) {
					t.Errorf("%q is none of %v", got, want)
				}
			}
		}
	}
	if got, want := strings.Join(all, " "), "00 01 02 03 04 05 06 07 08 09 10 11 12 13 14 15 16 17 18 19"; got != want {
		t.Errorf("followed are %q", got)
	}
	for _, from := range []logfile.Position{begin, slow} {
		if got, end := after(t, dir, "p", from, 99); got != messages(t, dir, "p", 99) || end != place {
			t.Errorf("after %v there are %q", from, got)
		}
	}
	for _, text := range []string{"", "0", "x-1", place.String() + "0000000000000000000", "-1", strings.ToUpper(place.String()) + "G"} {
		_, err := logfile.ParsePosition(text)
		wantReason(t, err, sdk.Invalid, "after_invalid")
	}
}

// TestAfter_WaitsForWholeLines: a line counts once its end is written.
func TestAfter_WaitsForWholeLines(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "p.log")
	var place logfile.Position
	for _, step := range []struct{ add, want string }{
		{strings.Repeat("x", 1<<20), ""},
		{"\n{\"plugin\":\"p\",\"mess", ""},
		{"age\":\"1\"}\n{\"plugin\":\"p\",\"message\":\"2\"}\n", "1 2"},
		{"", ""},
	} {
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = file.WriteString(step.add)
			err = errors.Join(err, file.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if got, place = after(t, dir, "p", place, 9); got != step.want {
			t.Errorf("after %.20q there are %q, want %q", step.add, got, step.want)
		}
	}
}
