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

// A session has a name that somebody chose, and no owner. The result of a recall in a
// session says how many turns it had and how they went. If all callers shared one name,
// that would reveal turns in namespaces that a caller doesn't reach, and a recall would
// advance them.
//
// So the callers that reach every namespace share sessions by name, and others have
// sessions of their own: callers with the same patterns of namespaces share them, as they
// may see all of each other's data anyway. Such names are stored with a mark made from
// the patterns, which events show and which is removed from results and errors. A caller
// whose patterns change begins new sessions.

// mark is the ending of the names of the caller's sessions; "" for shared ones.
func (c *Call) mark() string {
	if c.reaches("**") {
		return ""
	}
	patterns := slices.Sorted(slices.Values(c.caller.Namespaces))
	return "@" + core.Digest(core.MustJSON(slices.Compact(patterns)))[7:23]
}

// own is the name under which a session of the caller is stored. A name that already has
// the mark is unchanged: a run's node may repeat the same request.
func (c *Call) own(session string) string { return strings.TrimSuffix(session, c.mark()) + c.mark() }

// unmarked is an error with the mark removed.
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

// Session is a session's totals, and its turns.
type Session struct {
	*memory.Session
	Page[memory.SessionTurn]
}

// ofSession is the place of a session of the caller: its own sessions need no further
// check, see above.
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

// ofRecall is the place of a recall, which belongs to a session of the caller.
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

// ofTurn is the place of a turn: the namespace that it searched, and those of the
// memories that it recalled, because feedback changes all of them. A turn of which the
// caller doesn't reach everything doesn't exist for that caller.
func ofTurn(ctx context.Context, c *Call, in *core.FeedbackRequest) (place, error) {
	absent := memory.TurnNotFound(in.Session, in.Turn)
	if err := memory.CheckFeedback(in); err != nil { // before the turn is read
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
	if c.reaches("**") { // the turn refuses ids that match nothing
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
