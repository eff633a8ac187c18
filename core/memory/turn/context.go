package turn

import (
	"context"
	"encoding/binary"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory/internal/record"
)

// Context is what the prompt of a turn can use from its session: only the data of the
// turn's window, since windows don't see each other.
type Context struct {
	Session string
	// Turn is the turn that the prompt is for.
	Turn int64
	// Window is the window of the turn, which is the current one if the turn hasn't begun,
	// and Windows is how many there are.
	Window, Windows int64
	// Owner is the subject that the session belongs to, and Namespace its default.
	Owner, Namespace string
	// Bias is how the window's turns have gone lately, from -1 to 1.
	Bias float64
	// FailureClass is what failed in the window's last turn that had its feedback; "" if
	// it succeeded.
	FailureClass core.FailureClass
	// Hint is that turn's hint for the session's next turn; "" if it has none. HintTurn is
	// that next turn: the hint is only for that turn.
	Hint     string
	HintTurn int64
	// HintFrom is the turn that gave the hint.
	HintFrom int64
	// Texts has the salts of the hint and of the turns' summaries.
	Texts Texts
	// Turns are the window's earlier turns that have a summary, the oldest first.
	Turns []TurnSummary
	// Summary is what a model wrote from the oldest of these turns; nil if no model was
	// asked, or if the turns' own summaries have changed.
	Summary *WindowSummary
	// Newest is whether no later turn of the session has begun.
	Newest bool
}

// TurnSummary is the summary of a turn.
type TurnSummary struct {
	Turn int64  `json:"turn"`
	Text string `json:"text"`
}

// Context returns what the prompt of a turn can use from its session; turn 0 is the
// current turn, or the next turn if the current one had its feedback. For a session
// without a turn, it is empty. If the session belongs to another subject than the
// caller's, the error is sdk.NotFound, reason "session_not_found".
func (s *Turns) Context(ctx context.Context, session string, turn int64) (c *Context, err error) {
	if err := checkTurn(session, turn); err != nil {
		return nil, err
	}
	err = s.View(ctx, func(r core.Reader) error {
		c, err = ReadContext(r, core.CallerOf(ctx), session, turn)
		return err
	})
	return c, err
}

// ReadContext is [Turns.Context] within a transaction.
func ReadContext(r core.Reader, caller core.Caller, session string, turn int64) (*Context, error) {
	stored, err := readOwn(r, caller, session)
	if err != nil {
		return nil, err
	}
	if turn == 0 {
		if turn, err = current(r, session, &stored); err != nil {
			return nil, err
		}
	}
	c := &Context{
		Session: session, Turn: turn, Window: stored.window(), Windows: stored.windows(),
		Owner: stored.Owner, Namespace: stored.Namespace, Bias: stored.Bias, Newest: turn+1 >= stored.Next,
	}
	if err := c.locate(r, &stored); err != nil {
		return nil, err
	}
	last, err := c.read(r)
	if err != nil || last == nil {
		return c, err
	}
	if c.Summary, err = readSummary(r, session, c.Window, c.Turns); err != nil {
		return nil, err
	}
	c.FailureClass = last.FailureClass
	if last.NextTurnHint == "" {
		return c, nil
	}
	c.Hint, c.HintFrom = last.NextTurnHint, last.TurnID
	c.HintTurn, err = following(r, session, last.TurnID, turn)
	return c, err
}

// current is the session's turn that a prompt may still be made for.
func current(r core.Reader, session string, stored *sessionRecord) (int64, error) {
	if !stored.began() {
		return stored.Next, nil
	}
	newest, err := readTurnRecord(r, session, stored.Next-1)
	if err != nil || newest == nil || newest.Feedback == nil && newest.window() == stored.window() {
		return stored.Next - 1, err
	}
	return stored.Next, nil
}

// locate takes the context's window from its turn, if the turn began in another window than
// the session's current one: the session may be reset while the turn's prompt is made.
func (c *Context) locate(r core.Reader, stored *sessionRecord) error {
	begun, err := readTurnRecord(r, c.Session, c.Turn)
	if err != nil || begun == nil || begun.window() == stored.window() {
		return err
	}
	left, err := readWindow(r, c.Session, begun.window())
	c.Window, c.Bias = begun.window(), left.Bias
	return err
}

// read reads the reflection records of the window's turns before the context's turn, and
// returns the last one; nil if there is none.
func (c *Context) read(r core.Reader) (last *Reflection, err error) {
	start := record.ReflectionStart(c.Session, c.Window)
	err = core.ScanPrefix(r, start, func(key, value []byte) (bool, error) {
		if turnOf(key) >= c.Turn {
			return false, nil
		}
		stored, err := decodeReflection(c.Session, value)
		if err != nil {
			return false, err
		}
		c.Texts.add(stored)
		if last = &stored.Reflection; last.Summary != "" {
			c.Turns = append(c.Turns, TurnSummary{last.TurnID, last.Summary})
		}
		return true, nil
	})
	return last, err
}

// following is the session's first turn after a given turn, or else the requested turn.
func following(r core.Reader, session string, after, turn int64) (next int64, err error) {
	next = turn
	err = r.Scan(record.TurnRecordKey(session, after+1), record.TurnRecordKey(session, turn), func(key, _ []byte) (bool, error) {
		next = int64(binary.BigEndian.Uint64(key[len(key)-8:])) //nolint:gosec // turns count from 1
		return false, nil
	})
	return next, err
}
