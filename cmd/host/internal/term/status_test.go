package term_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reflectory/reflectory/cmd/host/internal/term"
)

const (
	clear = "\r\x1b[K"
	faint = "\x1b[2m"
	plain = "\x1b[0m"
)

func TestStatusCountsTheSecondsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := term.NewTerminal(&out)
		p.Status("working")
		time.Sleep(3*time.Second + time.Millisecond)
		p.Line("done")
		frames := strings.Split(out.String(), clear)
		if frames[0] != faint+"working"+plain || frames[len(frames)-1] != "done\n" {
			t.Errorf("shows %q", frames)
		}
		for _, want := range []string{"working  1s", "working  2s", "working  3s"} {
			if !strings.Contains(out.String(), faint+want+plain) {
				t.Errorf("no %q in %q", want, &out)
			}
		}
		shown := out.Len()
		time.Sleep(time.Minute)
		if out.Len() != shown {
			t.Errorf("it goes on after its end: %q", out.String()[shown:])
		}
	})
}

func TestStatusShowsHowFarTheWorkIs(t *testing.T) {
	memories := term.Unit{One: "memory", Many: "memories"}
	for name, c := range map[string]struct {
		after       time.Duration
		done, total int64
		unit        term.Unit
		want        string
	}{
		"at once, no total":     {0, 1, 0, memories, "moving  1 memory"},
		"no total":              {2 * time.Second, 12345, 0, memories, "moving  2s  12,345 memories, 5,486/s"},
		"at once":               {0, 5, 10, memories, "moving  █████░░░░░  50%  5 of 10 memories"},
		"with rate and left":    {4 * time.Second, 1 << 20, 3 << 20, term.Unit{Bytes: true}, "moving  4s  ███░░░░░░░  33%  1.0 MiB of 3.0 MiB, 240 KiB/s, 9s left"},
		"whole":                 {4 * time.Second, 3, 3, memories, "moving  4s  ██████████ 100%  3 of 3 memories"},
		"more than was thought": {0, 4, 3, memories, "moving  ██████████ 100%  3 of 3 memories"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			p := term.NewTerminal(&out)
			p.Status("moving")
			time.Sleep(c.after + time.Millisecond)
			p.Step(c.done, c.total, c.unit)
			time.Sleep(time.Second / 4) // a tick
			p.Clear()
			if !strings.Contains(out.String(), faint+c.want+plain) {
				t.Errorf("%s: no %q in %q", name, c.want, &out)
			}
		})
	}
}

func TestStatusStaysWhereLinesComeInBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := term.NewTerminal(&out)
		p.Status("asking")
		p.Stream("a piece")
		p.Note("a log line")
		time.Sleep(1500 * time.Millisecond)
		p.Stream("another")
		time.Sleep(time.Second)
		p.Clear()
		if want := clear + "\x1b[A" + clear + "a log line\n"; !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %q", want, &out)
		}
		if want := faint + "asking  2s" + plain + "\n" + faint + "another" + plain; !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %q", want, &out)
		}
	})
}

func TestWaitIsShownOnceItLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lockedBuffer
		p := term.NewTerminal(&out)
		p.Wait("opening")
		time.Sleep(999 * time.Millisecond)
		if early := out.String(); early != "" {
			t.Errorf("early: %q", early)
		}
		time.Sleep(time.Second)
		p.Clear()
		if !strings.HasPrefix(out.String(), faint+"opening  1s"+plain) {
			t.Errorf("late: %q", &out)
		}
	})
}

// A pipe gets only lines, and no status that changes.
func TestStatusIsForTerminalsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := term.New(&out)
		p.Status("working")
		p.Step(1, 2, term.Unit{Bytes: true})
		time.Sleep(3 * time.Second)
		p.Note("in between")
		p.Line("done")
		if out.String() != "in between\ndone\n" {
			t.Errorf("shows %q", &out)
		}
	})
}

// lockedBuffer may be read while the printer writes.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
