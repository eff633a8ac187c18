package host

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
)

// The pieces of an output are for who watches a run: they are stored nowhere, and the output that
// counts is the attempt's. A model streams its reply only if somebody watches when its call begins,
// since a whole reply is safer; who comes later gets the pieces of the next call. All who follow
// a run share what is kept of its pieces, so that a thousand of them cost no more memory than one,
// and who doesn't take them neither delays the run nor makes it keep more. Only this host's runs
// have pieces here: a run on another host that shares the store has none.

const (
	// piecesKept is how much of a followed run is kept for who hasn't taken it yet, in bytes: more than a
	// model writes in minutes. The newest piece is kept whatever its size.
	piecesKept = 256 << 10
	// pieceJoined is up to how many bytes a piece that nobody has taken is joined with the next one: models send
	// a few characters at a time.
	pieceJoined = 1 << 10
	// pieceCost is what a piece costs in addition to its text, about its size in memory.
	pieceCost = 64
)

// pieces are the newest pieces of the runs that are followed.
type pieces struct {
	mu   sync.Mutex
	runs map[string]*runPieces
}

// runPieces are the newest pieces of a run.
type runPieces struct {
	followers int
	kept      []core.OutputChunk
	bytes     int
	// from is how many pieces came before those that are kept, and taken how many somebody has taken.
	from, taken int
	// more is closed when a piece comes; nil if nobody waits for one.
	more chan struct{}
}

// cost is how much a piece counts of [piecesKept].
func cost(c *core.OutputChunk) int { return len(c.Text) + pieceCost }

// followed reports whether somebody follows a run.
func (p *pieces) followed(runID string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.runs[runID] != nil
}

// add passes a piece to all who follow a run. It never waits for them.
func (p *pieces) add(runID string, c core.OutputChunk) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.runs[runID]
	if r == nil || c.Text == "" {
		return
	}
	if n := len(r.kept); n > 0 && r.taken < r.from+n && len(r.kept[n-1].Text)+len(c.Text) <= pieceJoined && follows(&r.kept[n-1], &c) {
		r.kept[n-1].Text += c.Text
		r.bytes += len(c.Text)
	} else {
		r.kept, r.bytes = append(r.kept, c), r.bytes+cost(&c)
	}
	for len(r.kept) > 1 && r.bytes > piecesKept {
		r.bytes -= cost(&r.kept[0])
		r.kept[0], r.kept, r.from = core.OutputChunk{}, r.kept[1:], r.from+1
	}
	if r.more != nil {
		close(r.more)
		r.more = nil
	}
}

// of returns what gets the events of a run, so that its pieces come to all who follow it, and whether anybody
// watches. events, which may be nil, gets the pieces only if shown is set.
func (p *pieces) of(runID string, events func(core.Event), shown bool) (all func(core.Event), watched func() bool) {
	shown = shown && events != nil
	all = func(e core.Event) {
		if c, is := e.(core.OutputChunk); is {
			if p.add(runID, c); !shown {
				return
			}
		}
		if events != nil {
			events(e)
		}
	}
	return all, func() bool { return shown || p.followed(runID) }
}

// PieceFollower gets the pieces of a run's outputs. A nil one gets none. It is for one goroutine.
type PieceFollower struct {
	of    *pieces
	runID string
	run   *runPieces
	next  int // the number of the next piece to take
}

// FollowPieces returns what gets the pieces of the outputs of a run on this host from now on, which need not
// exist yet. Stop must be called at its end. The caller decides who may read them: a run's reader.
func (r *Runner) FollowPieces(runID string) *PieceFollower {
	p := &r.pieces
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runs == nil {
		p.runs = map[string]*runPieces{}
	}
	run := p.runs[runID]
	if run == nil {
		run = &runPieces{}
		p.runs[runID] = run
	}
	run.followers++
	run.taken = run.from + len(run.kept) // so that what comes isn't joined with what came before
	return &PieceFollower{p, runID, run, run.taken}
}

// More returns a channel from which can be received once there is something to take.
func (f *PieceFollower) More() <-chan struct{} {
	if f == nil {
		return nil
	}
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	if f.next < f.run.from+len(f.run.kept) {
		ready := make(chan struct{})
		close(ready)
		return ready
	}
	if f.run.more == nil {
		f.run.more = make(chan struct{})
	}
	return f.run.more
}

// Take returns the pieces that came since the last call, in order: what follows each other in a text is one
// piece. Of more than is kept it has the end; Offset shows what is missing.
func (f *PieceFollower) Take() (taken []core.OutputChunk) {
	if f == nil {
		return nil
	}
	f.of.mu.Lock()
	pieces := append([]core.OutputChunk(nil), f.run.kept[max(f.next-f.run.from, 0):]...)
	f.next = f.run.from + len(f.run.kept)
	f.run.taken = f.next
	f.of.mu.Unlock()
	return joined(pieces)
}

// follows reports whether a piece goes on where another one of the same text ends.
func follows(c, next *core.OutputChunk) bool {
	return next.Offset == c.Offset+utf8.RuneCountInString(c.Text) && next.Visit == c.Visit && next.Node == c.Node && next.Iteration == c.Iteration
}

// joined are pieces in which those that follow each other in a text are one.
func joined(pieces []core.OutputChunk) (all []core.OutputChunk) {
	for len(pieces) > 0 {
		whole, n := pieces[0], 1
		for n < len(pieces) && follows(&pieces[n-1], &pieces[n]) {
			n++
		}
		if n > 1 { // otherwise all who follow share the text
			var text strings.Builder
			for _, p := range pieces[:n] {
				text.WriteString(p.Text)
			}
			whole.Text = text.String()
		}
		all, pieces = append(all, whole), pieces[n:]
	}
	return all
}

// Stop ends the following.
func (f *PieceFollower) Stop() {
	if f == nil || f.run == nil {
		return
	}
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	if f.run.followers--; f.run.followers == 0 {
		delete(f.of.runs, f.runID)
	}
	f.run = nil
}
