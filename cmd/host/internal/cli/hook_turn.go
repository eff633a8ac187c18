package cli

import (
	"cmp"
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/cmd/host/internal/connect"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// maxStart is how many memories the start of a session gets, of the newest newestLooked: what is asked
	// isn't known yet, so they are the ones that have helped most.
	maxStart     = 8
	newestLooked = 100
	// maxQuery bounds the prompt as a query; a query has 64 KiB.
	maxQuery = 32 << 10
	// maxCaptured bounds a captured turn, in characters.
	maxCaptured = 2000
	// maxRemembered bounds the memories of one prompt.
	maxRemembered = 20
)

// turn does what an event asks of the host.
func (h *hook) turn(ctx context.Context) ([]byte, error) {
	switch h.kind {
	case connect.SessionStart:
		connect.ForgetOld(h.dataDir, core.SystemClock{}.Now())
		return h.start(ctx)
	case connect.Prompt:
		return h.prompt(ctx)
	}
	err := h.stop(ctx)
	if sdk.ReasonOf(err) == "turn_not_found" || sdk.CodeOf(err) == sdk.NotFound { // purged, or another store by now
		err = nil
	}
	if err != nil {
		return nil, err // the next end of a turn tries again
	}
	return nil, h.talk.End()
}

// start builds the context of a session's first turn.
func (h *hook) start(ctx context.Context) ([]byte, error) {
	listed, err := do[operation.Memories](ctx, h.app, "memory_list", &operation.MemoryList{
		Namespace: h.app.config.Namespace.Value, Current: true, Paging: operation.Paging{Limit: newestLooked},
	})
	if err != nil {
		return nil, err
	}
	best := listed.Items
	slices.SortStableFunc(best, func(a, b *core.Memory) int {
		return cmp.Or(cmp.Compare(b.Signals.HitRate, a.Signals.HitRate), cmp.Compare(b.Importance, a.Importance))
	})
	in := &inject.BuildRequest{Turn: 1}
	for i, m := range best[:min(len(best), maxStart)] {
		in.Blocks = append(in.Blocks, inject.Draft{
			BlockID: "memory:" + m.ID, Category: inject.MemoryRecall, Priority: new(maxStart - i), Payload: cmp.Or(m.Content, m.Title), MemoryID: m.ID,
		})
	}
	if !connect.TakesContext(h.event.Client, connect.Prompt) { // it gets no other context
		in.Turn, in.Query = 0, filepath.Base(h.event.Folder)
	} else if len(in.Blocks) == 0 {
		return nil, nil
	}
	return h.build(ctx, in)
}

// prompt stores what the user wants remembered, and builds the context of a turn.
func (h *hook) prompt(ctx context.Context) ([]byte, error) {
	first, err := h.talk.Claim(h.event.Prompt, core.SystemClock{}.Now())
	if err == nil && !first {
		return nil, nil // another hook has answered it
	}
	var answer []byte
	var built error
	if strings.TrimSpace(h.event.Prompt) != "" && connect.TakesContext(h.event.Client, connect.Prompt) {
		answer, built = h.build(ctx, &inject.BuildRequest{Query: cutBytes(h.event.Prompt, maxQuery)})
	}
	return answer, core.JoinErrors(err, built, h.remember(ctx)) // afterwards, so that the prompt isn't its own context
}

// build builds the context of a turn, and notes that it is open.
func (h *hook) build(ctx context.Context, in *inject.BuildRequest) ([]byte, error) {
	in.Session, in.Namespace, in.InHistory = connect.SessionName(h.event.Session), h.app.config.Namespace.Value, true
	built, err := do[inject.Built](ctx, h.app, "snapshot_build", in)
	if err != nil {
		return nil, err
	}
	text := built.Prompt
	if text != "" {
		text = "<context source=\"reflectory\">\n" + text + "\n</context>"
	}
	answer := h.event.Answer(h.kind, text)
	if in.Query == "" { // a turn of the session's start: what it gives isn't about a question, so not using it says nothing
		return answer, nil
	}
	open := connect.Turn{Session: in.Session, Turn: built.TurnID}
	if h.app.config.Capture.Value == "turns" {
		open.Prompt = h.event.Prompt
	}
	return answer, h.talk.Begin(open)
}

// stop gives the feedback on the open turn.
func (h *hook) stop(ctx context.Context) error {
	open, err := h.talk.Open()
	if err != nil || open == nil {
		return err
	}
	reply := cmp.Or(h.event.Reply, open.Reply)
	if strings.TrimSpace(reply) == "" {
		return nil // nothing shows what was used
	}
	calls, err := h.talk.Calls()
	if err != nil {
		return err
	}
	return core.JoinErrors(h.feedback(ctx, open, reply, calls), h.capture(ctx, open, reply))
}

// feedback says how a turn went, by its last tool call, and leaves it to the reply which memories were
// used. A turn without tools has no outcome, and no feedback.
func (h *hook) feedback(ctx context.Context, open *connect.Turn, reply string, calls []connect.Call) error {
	if len(calls) == 0 {
		return nil
	}
	r := &core.FeedbackRequest{
		Session: open.Session, Turn: open.Turn, Outcome: core.OutcomeSuccess, Source: "tool", Reply: cutBytes(reply, memory.MaxReplyBytes), AgentID: h.event.Client,
	}
	if calls[len(calls)-1].Failed {
		r.Outcome = core.OutcomeFailure
	}
	worked := map[string]bool{} // later in the turn
	for _, call := range slices.Backward(calls) {
		tool := strings.ToValidUTF8(cutBytes(call.Tool, 128), "")
		r.ToolOutcomes = append(r.ToolOutcomes, core.ToolOutcome{Tool: tool, OK: !call.Failed, Recovered: call.Failed && worked[tool], Ref: cutBytes(call.ID, 128)})
		worked[tool] = worked[tool] || !call.Failed
	}
	slices.Reverse(r.ToolOutcomes)
	_, err := do[core.FeedbackResult](ctx, h.app, "memory_feedback", r)
	return err
}

// capture stores a turn's prompt and reply, if turns are captured.
func (h *hook) capture(ctx context.Context, open *connect.Turn, reply string) error {
	if h.app.config.Capture.Value != "turns" || strings.TrimSpace(open.Prompt) == "" {
		return nil
	}
	text := "User: " + cutRunes(open.Prompt, maxCaptured/2) + "\nAgent: "
	text += cutRunes(reply, maxCaptured-len([]rune(text)))
	return h.observe(ctx, text, "captured")
}

var (
	// asksToRemember is a sentence that asks to remember something; the rest of it is what.
	asksToRemember = regexp.MustCompile(`(?im)(?:^|[.!?;:]\s+)\s*(?:please\s+|and\s+|also\s+)*remember(?:\s+that\s+|\s+this:\s*|:\s*)(\S[^\n]*)$`)
	// numberSign is a line that begins with one #.
	numberSign = regexp.MustCompile(`^#[ \t]*([^#\s].*)$`)
)

// remember stores what the user wants remembered.
func (h *hook) remember(ctx context.Context) error {
	var errs []error
	for _, text := range toRemember(h.event.Prompt) {
		errs = append(errs, h.observe(ctx, text, "remember"))
	}
	return core.JoinErrors(errs...)
}

// toRemember are the texts in a prompt that the user wants remembered. Lines with # count only if the
// prompt has no others: elsewhere they are headings or comments.
func toRemember(prompt string) (texts []string) {
	var lines []string
	for line := range strings.Lines(prompt) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		found := numberSign.FindStringSubmatch(line)
		if found == nil {
			lines = nil
			break
		}
		lines = append(lines, strings.TrimSpace(found[1]))
	}
	for _, found := range asksToRemember.FindAllStringSubmatch(prompt, maxRemembered) {
		if text := strings.TrimSpace(found[1]); !strings.HasSuffix(text, "?") {
			texts = append(texts, text)
		}
	}
	texts = append(texts, lines...)
	return texts[:min(len(texts), maxRemembered)]
}

// observe stores a text of the conversation, once.
func (h *hook) observe(ctx context.Context, text, why string) error {
	session := connect.SessionName(h.event.Session)
	_, err := do[core.Memory](ctx, h.app, "memory_observe", &core.ObserveRequest{
		Namespace: h.app.config.Namespace.Value, Content: text,
		Attributes: core.Attributes{
			AgentID: h.event.Client, Tags: []string{why},
			Metadata: jsontext.MustEncode(map[string]any{"source": map[string]string{"client": h.event.Client, "session": session}}),
		},
		IdempotencyKey: "hook:" + core.Digest([]byte(session + "\n" + text))[len("sha256:"):],
	})
	return err
}

// cutBytes is the beginning of a text, with whole characters.
func cutBytes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "")
}

// cutRunes is the beginning of a text, up to a number of characters.
func cutRunes(text string, limit int) string {
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}
