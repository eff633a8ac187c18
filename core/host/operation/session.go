package operation

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// A session has a name that somebody chose, and no owner. What a recall answers in one
// says how many turns it had and how they went, so that one name for all would tell of
// turns in namespaces that a caller doesn't reach, and a recall would move them on.
//
// So the callers that reach every namespace share the sessions by their names, and others
// have sessions of their own: those with the same patterns of namespaces share them, who
// may see all of each other's anyway. Their names are kept with a mark made of the
// patterns, which events show and which is taken off again in results and errors. A caller
// whose patterns change begins new sessions.

// mark is what the names of the caller's sessions end with; "" for those that are shared.
func (c *Call) mark() string {
	if c.reaches("**") {
		return ""
	}
	patterns := slices.Sorted(slices.Values(c.caller.Namespaces))
	return "@" + core.Digest(core.MustJSON(slices.Compact(patterns)))[7:23]
}

// own is the name under which a session of the caller's is kept. A name that has the mark
// is left: a run's node may be tried again with the same request.
func (c *Call) own(session string) string { return strings.TrimSuffix(session, c.mark()) + c.mark() }

// unmarked is an error without the mark of the caller's sessions.
func (c *Call) unmarked(err error) error {
	mark := c.mark()
	if err == nil || mark == "" {
		return err
	}
	e := *sdk.AsError(err)
	e.Err = err
	for _, text := range []*string{&e.Op, &e.Message, &e.Hint} {
		*text = strings.ReplaceAll(*text, mark, "")
	}
	return &e
}

// sessions are the operations on sessions.
func sessions() []Operation {
	return []Operation{
		define(Operation{
			Name: "session_get", Method: "GET", Path: "/v1/sessions/{session}", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true,
			Doc: "Show how a session's turns have gone, the oldest first.",
		}, ofSession, sessionGet),
	}
}

// SessionGet names a session.
type SessionGet struct {
	Session string `json:"session"`
	Paging
}

// Session is what a session has come to, and its turns.
type Session struct {
	*memory.Session
	Page[memory.SessionTurn]
}

// ofSession is where a session of the caller's is: one of its own needs no more, see above.
func ofSession(_ context.Context, c *Call, in *SessionGet) (place, error) {
	in.Session = c.own(in.Session)
	return place{}, nil
}

func sessionGet(ctx context.Context, c *Call, in *SessionGet) (*Session, error) {
	filter := *in
	filter.Paging = Paging{}
	at, limit, err := in.open(ctx, c, filter)
	if err != nil {
		return nil, err
	}
	after, _ := strconv.ParseInt(at, 10, 64) // 0 for the first page
	found, turns, more, err := c.Host.Memories.Session(ctx, in.Session, after, limit)
	if err != nil {
		return nil, c.unmarked(err)
	}
	found.Session = strings.TrimSuffix(found.Session, c.mark())
	for i := range turns {
		t := &turns[i]
		t.Memories = orEmpty(c.seen(ctx, t.Memories))
		if t.Feedback != nil {
			t.Feedback.Session = found.Session
		}
	}
	next := ""
	if more {
		next = strconv.FormatInt(turns[len(turns)-1].Turn, 10)
	}
	page, err := pageOf(ctx, c, turns, next, filter)
	if err != nil {
		return nil, err
	}
	return &Session{found, *page}, nil
}

// ofRecall is where a recall looks, in a session of the caller's.
func ofRecall(ctx context.Context, c *Call, in *core.RecallRequest) (place, error) {
	if in.Session != "" {
		in.Session = c.own(in.Session)
	}
	return inTree(func(in *core.RecallRequest) (*string, bool) { return &in.Namespace, in.Subtree })(ctx, c, in)
}

func memoryRecall(ctx context.Context, c *Call, in *core.RecallRequest) (*Recalled, error) {
	result, err := c.Host.Memories.Recall(ctx, in)
	if err != nil {
		return nil, c.unmarked(err)
	}
	result.Session = strings.TrimSuffix(result.Session, c.mark())
	for i := range result.Memories {
		m := &result.Memories[i]
		m.SupersededBy, m.ContradictedBy, m.SameAs = c.seen(ctx, m.SupersededBy), c.seen(ctx, m.ContradictedBy), c.seen(ctx, m.SameAs)
	}
	out := &Recalled{RecallResult: result}
	if len(result.Memories) == 0 {
		out.Namespaces, err = c.elsewhere(ctx)
	}
	return out, err
}

// ofTurn is where a turn looked, and what it was offered: a feedback teaches all of that.
// A turn of which the caller doesn't reach everything isn't there for them.
func ofTurn(ctx context.Context, c *Call, in *core.FeedbackRequest) (place, error) {
	absent := memory.TurnNotFound(in.Session, in.Turn)
	if err := memory.CheckFeedback(in); err != nil { // before anything is known of the turn
		return place{}, err
	}
	in.Session = c.own(in.Session)
	namespaces, found, err := c.Host.Memories.TurnNamespaces(ctx, in.Session, in.Turn)
	switch {
	case err != nil:
		return place{}, err
	case !found:
		return place{}, absent
	case len(namespaces) == 0:
		namespaces = []string{"**"}
	}
	if c.reaches("**") { // ids that name nothing, the turn refuses
		if _, err := c.atMemories(ctx, in.Used); err != nil {
			return place{}, err
		}
	}
	return place{namespaces: namespaces, absent: absent}, nil
}

func memoryFeedback(ctx context.Context, c *Call, in *core.FeedbackRequest) (*core.FeedbackResult, error) {
	result, err := c.Host.Memories.Feedback(ctx, in)
	if result != nil {
		result.Session = strings.TrimSuffix(result.Session, c.mark())
		for i := range result.Purged {
			result.Purged[i] = *c.givenTo(ctx, &result.Purged[i])
		}
	}
	return result, c.unmarked(err)
}
