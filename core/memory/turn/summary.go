package turn

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory/internal/bounds"
	"github.com/reflectory/reflectory/core/memory/internal/record"
	"github.com/reflectory/reflectory/sdk"
)

// A window's oldest turns may have one summary, which a model wrote from what the turns'
// feedback said. It is kept, because a prompt needs it in every later turn, and because
// the beginning of a prompt that a provider caches must not change with every question to
// a model. It is valid only for the texts that it was written from: a digest of them shows when
// a text has changed. A purge of a memory that one of the window's turns recalled removes it.

// WindowSummary is a text in place of the oldest turns of a window.
type WindowSummary struct {
	// Through is the last turn that it covers.
	Through int64 `json:"through"`
	// Turns is the digest of the summaries of these turns: see [DigestOf].
	Turns string `json:"turns"`
	// Text is the summary; "" if no model could write it. Then no model is asked again until there
	// are more turns.
	Text string `json:"text,omitempty"`
}

// windowSummaryRecord is the stored form of a summary.
type windowSummaryRecord struct {
	WindowSummary
	// Salt hides the text, and the digest of the turns, in the record's digest.
	Salt string `json:"salt"`
}

// DigestOf is the digest of the summaries of turns.
func DigestOf(turns []TurnSummary) string { return core.Digest(jsontext.MustEncode(turns)) }

// of reports whether the summary was written from the present form of the first turns in a
// list.
func (s *WindowSummary) of(turns []TurnSummary) bool {
	n := 1 + slices.IndexFunc(turns, func(t TurnSummary) bool { return t.Turn == s.Through })
	return n > 0 && DigestOf(turns[:n]) == s.Turns
}

// readSummary returns the summary of a window's turns; nil if there is no summary of these
// turns.
func readSummary(r core.Reader, session string, window int64, turns []TurnSummary) (*WindowSummary, error) {
	value, found, err := r.Get(record.WindowSummaryKey(session, window))
	if err != nil || !found {
		return nil, err
	}
	var stored windowSummaryRecord
	if err := json.Unmarshal(value, &stored); err != nil {
		return nil, record.Damaged(record.WindowSummaryPrefix+session, err)
	}
	if !stored.of(turns) {
		return nil, nil
	}
	return &stored.WindowSummary, nil
}

// SummarizedWindow is a summary of the oldest turns of a session's window, and what it took.
type SummarizedWindow struct {
	Session string
	Window  int64
	WindowSummary
	// Usage is what the model used, and Failure the reason for which it wrote nothing.
	Usage   sdk.Usage
	Failure string
}

// SummarizeWindow stores a summary of a window's oldest turns, of at most 2,000 characters,
// and reports whether it did. It doesn't if the turns' own summaries have changed. The errors
// are [Turns.Context]'s.
func (s *Turns) SummarizeWindow(ctx context.Context, d *SummarizedWindow) (stored bool, err error) {
	var p bounds.Problems
	p.ID("session", d.Session)
	p.Note("text", d.Text)
	if err := p.Err(); err != nil {
		return false, err
	}
	err = s.Update(ctx, func(t *record.Tx) error {
		session, err := readOwn(t, t.Caller(), d.Session)
		if err != nil {
			return err
		}
		c := &Context{Session: d.Session, Window: d.Window, Turn: d.Through + 1}
		if _, err := c.read(t); err != nil {
			return err
		}
		if stored = d.of(c.Turns); !stored {
			return nil
		}
		value := windowSummaryRecord{WindowSummary: d.WindowSummary}
		if value.Salt, err = t.NewSalt(); err != nil {
			return err
		}
		if err := t.WriteOfSession(d.Session, record.WindowSummaryKey(d.Session, d.Window), jsontext.MustEncode(value)); err != nil || session.Namespace == "" {
			return err
		}
		return t.Record(session.Namespace, journal.SessionWindowSummarized{
			SessionID: d.Session, TurnID: d.Through, Window: d.Window, Turns: len(c.Turns), Failure: d.Failure,
			TokensIn: d.Usage.TokensIn, TokensOut: d.Usage.TokensOut, CostUSD: d.Usage.CostUSD, AgentID: t.Caller().Label,
		})
	})
	return stored, err
}

// forgetSummary removes the summary of a window.
func forgetSummary(t *record.Tx, session string, window int64) error {
	key := record.WindowSummaryKey(session, window)
	if _, found, err := t.Get(key); err != nil || !found {
		return err
	}
	return t.EraseOfSession(session, key)
}
