package host

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/core/inject/window"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/memory/text"
)

// A turn's prompt has up to three blocks about its session: the previous turn's hint, the
// summaries of the window's newest turns, and a text in place of the oldest turns. The blocks
// are XML, since models and users wrote their texts: whatever a text contains, it can't leave
// its element.

// The priorities of a session's blocks.
const (
	hintPriority    = 600
	earlierPriority = 550
	recentPriority  = 450
)

// sessionBlocks are the blocks of sessions, and what policies see of sessions.
type sessionBlocks struct{ prompts *Prompts }

var (
	_ inject.Source   = sessionBlocks{}
	_ inject.Sessions = sessionBlocks{}
)

// begin begins a turn that no recall has begun, so that its prompt belongs to a turn of a
// session with a known owner.
func (s sessionBlocks) begin(ctx context.Context, t *inject.Turn) error {
	return s.prompts.memories.Sessions.BeginTurn(ctx, core.TurnRef{Session: t.SessionID, Turn: t.TurnID}, t.Namespace)
}

// Blocks implements [inject.Source].
func (s sessionBlocks) Blocks(ctx context.Context, t *inject.Turn) (drafts []inject.Draft, err error) {
	c, folded, err := s.read(ctx, t)
	if err != nil {
		return nil, err
	}
	source := "session/" + c.Session
	block := func(id string, category inject.Category, priority int, payload string, from, to int64) inject.Draft {
		texts := c.Texts.Between(from, to)
		return inject.Draft{
			BlockID: id, Category: category, Priority: &priority, Payload: payload, Source: source + "/" + id, Format: inject.XML,
			Salt: inject.Turns{Window: c.Window, From: from, To: to}.Salt(texts.Secret()), Turns: texts.Turns(),
		}
	}
	if c.Hint != "" {
		hint := block("hint", inject.Reflection, hintPriority, "<hint>"+text.Escape(c.Hint)+"</hint>", c.HintFrom, c.HintFrom)
		hint.TTLTurns, hint.CreatedTurn = new(int64(1)), &c.HintTurn
		drafts = append(drafts, hint)
	}
	if len(folded.Old) > 0 {
		summary, err := s.prompts.windowSummary(ctx, c, folded)
		if err != nil {
			return nil, err
		}
		payload := turnsXML("earlier_turns", folded.Earlier)
		if summary != "" {
			payload = summaryXML("earlier_turns", folded.Old, summary)
		}
		earlier := block("earlier_turns", inject.SessionInjection, earlierPriority, payload, folded.Old[0].Number, folded.Old[len(folded.Old)-1].Number)
		earlier.Stable = true
		drafts = append(drafts, earlier)
	}
	if n := len(folded.Recent); n > 0 { // the newest first: what doesn't fit is cut from the end
		from, to := folded.Recent[0].Number, folded.Recent[n-1].Number
		slices.Reverse(folded.Recent)
		drafts = append(drafts, block("recent_turns", inject.SessionInjection, recentPriority, turnsXML("recent_turns", folded.Recent), from, to))
	}
	return drafts, nil
}

// sessionTexts are what the feedback on turns says.
type sessionTexts struct{}

// Secret implements [inject.SessionTexts].
func (sessionTexts) Secret(r core.Reader, session string, window int64, turns []int64) (string, error) {
	return memory.TurnsSecret(r, session, window, turns)
}

// Repeating implements [inject.SessionTexts].
func (sessionTexts) Repeating(r core.Reader, memoryID string) ([]inject.SessionTurn, error) {
	found, err := memory.TurnsRepeating(r, memoryID)
	list := make([]inject.SessionTurn, len(found))
	for i, at := range found {
		list[i] = inject.SessionTurn(at)
	}
	return list, err
}

// State implements [inject.Sessions].
func (s sessionBlocks) State(ctx context.Context, t *inject.Turn) (inject.SessionState, error) {
	c, folded, err := s.read(ctx, t)
	if err != nil {
		return inject.SessionState{}, err
	}
	return inject.SessionState{Bias: c.Bias, FailureClass: string(c.FailureClass), WindowFill: folded.Fill}, nil
}

// read reads what a turn's prompt can use from its session. The fill of the window refers to
// a prompt of the default size, because a policy that sees the fill decides the size of the
// turn's own prompt later.
func (s sessionBlocks) read(ctx context.Context, t *inject.Turn) (*memory.SessionContext, *window.Folded, error) {
	c, err := s.prompts.memories.Sessions.Context(ctx, t.SessionID, t.TurnID)
	if err != nil {
		return nil, nil, err
	}
	turns := make([]window.Turn, len(c.Turns))
	for i, turn := range c.Turns {
		turns[i] = window.Turn{Number: turn.Turn, Text: turn.Text}
	}
	return c, window.Fold(turns, inject.DefaultMaxChars), nil
}

// turnsXML is an element with one child for each turn.
func turnsXML(name string, turns []window.Turn) string {
	var b strings.Builder
	b.WriteString("<" + name + ">")
	for _, t := range turns {
		fmt.Fprintf(&b, "\n<turn n=\"%d\">%s</turn>", t.Number, text.Escape(t.Text))
	}
	b.WriteString("\n</" + name + ">")
	return b.String()
}

// summaryXML is an element with a text in place of turns.
func summaryXML(name string, turns []window.Turn, summary string) string {
	return fmt.Sprintf("<%s>\n<turns from=\"%d\" to=\"%d\">%s</turns>\n</%s>", name, turns[0].Number, turns[len(turns)-1].Number, text.Escape(summary), name)
}

// injectedMemories finds the memories that were in the prompts of turns.
type injectedMemories struct{}

// Injected implements [memory.Injection].
func (injectedMemories) Injected(r core.Reader, by core.TurnRef) (*memory.Injected, error) {
	info, memories, err := inject.Offered(r, by.Session, by.Turn)
	if err != nil || info == nil {
		return nil, err
	}
	return &memory.Injected{InjectionInfo: *info, MemoryIDs: memories}, nil
}
