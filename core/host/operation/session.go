package operation

import (
	"cmp"
	"context"
	"strconv"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// A session belongs to the subject that first used it. The result of a recall in a session shows
// how many turns the session had and their outcomes, and a recall advances the turns. So for other
// subjects there is no such session.
//
// This applies to the local operator too, with two exceptions. A caller that resumes a run continues
// in the run's session, and the operator may resume any run. A caller with the scope operate may
// look at the sessions of all subjects in the namespaces that it reaches, but not use them: a turn is
// shown only to a caller that reaches all its namespaces.

// oversees reports whether the caller may look at other subjects' sessions.
func (c *Call) oversees() bool { return c.caller.Has(core.ScopeOperate) }

// ownSession returns a session that the caller may use, or look at if the operation does no more; nil
// for a session that had no turn yet. For another subject's session, the error is the same as for a
// session that doesn't exist.
func (c *Call) ownSession(ctx context.Context, name string) (*memory.Session, error) {
	found, err := c.Host.Memories.SessionHead(ctx, name)
	if err != nil || found == nil {
		return nil, err
	}
	operator := c.caller.Subject == core.OperatorSubject
	if found.Owner == c.caller.Subject || operator && (found.Owner == "" || c.operation.Name == "run_resume") {
		return found, nil
	}
	if c.operation.Name == "session_get" && c.oversees() && c.reaches(cmp.Or(found.Namespace, "**")) {
		return found, nil
	}
	return nil, memory.SessionNotFound(name)
}

// sessions are the operations on sessions.
func sessions() []Operation {
	return []Operation{
		define(Operation{
			Name: "session_get", Method: "GET", Path: "/v1/sessions/{session}", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true,
			Doc: "Show how a session's turns went, the oldest first.",
		}, ofSession(func(in *SessionGet) string { return in.Session }), sessionGet),
		define(Operation{
			Name: "session_list", listed: true, Method: "GET", Path: "/v1/sessions", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true,
			Doc: "List sessions by name: the caller's own or, with the scope operate, the sessions of all subjects in the namespaces that the caller reaches.",
		}, ofSessions, sessionList),
		define(Operation{
			Name: "session_reset", Method: "POST", Path: "/v1/sessions/{session}/reset", Scope: core.ScopeMemoryWrite,
			Doc: "Open a new window of a session, which sees nothing of its earlier turns. Memories stay, and the numbers of turns continue.",
		}, ofSession(func(in *SessionReset) string { return in.Session }), sessionReset),
		define(Operation{
			Name: "session_resume", Method: "POST", Path: "/v1/sessions/{session}/resume", Scope: core.ScopeMemoryWrite,
			Doc: "Go back to an earlier window of a session.",
		}, ofSession(func(in *SessionResume) string { return in.Session }), sessionResume),
	}
}

// SessionGet names a session.
type SessionGet struct {
	Session string `json:"session"`
	Paging
}

// SessionList selects sessions.
type SessionList struct {
	// Namespace is where the sessions began; "" is every namespace that the caller reaches. Subtree
	// includes the namespaces below.
	Namespace string `json:"namespace,omitempty"`
	Subtree   bool   `json:"subtree,omitempty"`
	// Owner is the subject that the sessions belong to; "" is the caller, or every subject for a
	// caller with the scope operate.
	Owner string `json:"owner,omitempty"`
	// Text is a part of the sessions' names; case doesn't matter.
	Text string `json:"text,omitempty"`
	Paging
}

// SessionReset names a session.
type SessionReset struct {
	Session string `json:"session"`
}

// SessionResume names a session and one of its windows.
type SessionResume struct {
	Session string `json:"session"`
	// Window is the window to go back to, from 1; 0 is the window before the current one.
	Window int64 `json:"window,omitempty"`
}

// Session is a session, and its turns.
type Session struct {
	*memory.Session
	Page[memory.SessionTurn]
}

// ofSession is the place of a session of the caller: the namespace of its first recall. For a
// caller that doesn't reach it any more, there is no such session.
func ofSession[In any](name func(*In) string) func(context.Context, *Call, *In) (place, error) {
	return func(ctx context.Context, c *Call, in *In) (place, error) {
		found, err := c.ownSession(ctx, name(in))
		if err != nil || found == nil || found.Namespace == "" {
			return place{}, err
		}
		return place{namespaces: []string{found.Namespace}, absent: memory.SessionNotFound(name(in))}, nil
	}
}

func (in *SessionGet) check() error {
	return core.JoinErrors(memory.CheckSession(in.Session), in.Paging.check())
}

func sessionGet(ctx context.Context, c *Call, in *SessionGet) (*Session, error) {
	filter := *in
	filter.Paging = Paging{}
	at, limit, err := in.open(ctx, c, filter)
	if err != nil {
		return nil, err
	}
	after, _ := strconv.ParseInt(at, 10, 64) // 0 for the first page
	found, turns, more, err := c.Host.Memories.Session(ctx, &memory.TurnFilter{Session: in.Session, Any: true, In: c.reaches, After: after, Limit: limit})
	if err != nil {
		return nil, err
	}
	for i := range turns {
		turns[i].Memories = orEmpty(c.seen(ctx, turns[i].Memories))
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

// ofSessions is the place of a list: the namespace that it names, or the host, with a filter by what
// the caller reaches.
func ofSessions(ctx context.Context, c *Call, in *SessionList) (place, error) {
	if in.Namespace == "" {
		return place{}, nil
	}
	return inTree(func(in *SessionList) (*string, bool) { return &in.Namespace, in.Subtree })(ctx, c, in)
}

func sessionList(ctx context.Context, c *Call, in *SessionList) (*Page[memory.Session], error) {
	if in.Namespace != "" {
		if err := core.CheckNamespace(in.Namespace); err != nil {
			return nil, err
		}
	}
	if in.Owner != "" && in.Owner != c.caller.Subject && !c.oversees() {
		return nil, sdk.Errorf(sdk.Denied, "scope_denied", "the sessions of other subjects need the scope %s, which the caller doesn't have", core.ScopeOperate).
			WithHint("ask the operator for a token with that scope, or leave the owner out").
			WithDetail("operation", c.operation.Name).WithDetail("scope", string(core.ScopeOperate))
	}
	selected := *in
	selected.Paging = Paging{}
	filter := []any{selected, c.oversees()}
	at, limit, err := in.open(ctx, c, filter)
	if err != nil {
		return nil, err
	}
	list, next, err := c.Host.Memories.Sessions(ctx, &memory.SessionFilter{
		Owner: cmp.Or(in.Owner, c.caller.Subject), Any: in.Owner == "" && c.oversees(), Text: in.Text, After: at, Limit: limit, In: func(namespace string) bool {
			return within(namespace, in.Namespace, in.Subtree) && c.reaches(cmp.Or(namespace, "**"))
		},
	})
	if err != nil {
		return nil, err
	}
	return pageOf(ctx, c, list, next, filter)
}

func sessionReset(ctx context.Context, c *Call, in *SessionReset) (*memory.Session, error) {
	return c.Host.Memories.ResetSession(ctx, in.Session)
}

func sessionResume(ctx context.Context, c *Call, in *SessionResume) (*memory.Session, error) {
	return c.Host.Memories.ResumeSession(ctx, in.Session, in.Window)
}

// ofRecall is the place of a recall. A recall that names no namespace searches the namespace in
// which its session began.
func ofRecall(ctx context.Context, c *Call, in *core.RecallRequest) (place, error) {
	if in.Session != "" {
		found, err := c.ownSession(ctx, in.Session)
		if err != nil {
			return place{}, err
		}
		if found != nil && in.Namespace == "" && !in.Subtree {
			in.Namespace = found.Namespace
		}
	}
	return inTree(func(in *core.RecallRequest) (*string, bool) { return &in.Namespace, in.Subtree })(ctx, c, in)
}

func memoryRecall(ctx context.Context, c *Call, in *core.RecallRequest) (*Recalled, error) {
	result, err := c.Host.Memories.Recall(ctx, in)
	if err != nil {
		return nil, err
	}
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

// ofTurn is the place of a turn: the namespace that it searched, and the namespaces of the memories
// that it recalled, because feedback changes all of them. If the caller doesn't reach all of them,
// the turn doesn't exist for that caller.
func ofTurn(ctx context.Context, c *Call, in *core.FeedbackRequest) (place, error) {
	absent := memory.TurnNotFound(in.Session, in.Turn)
	if _, err := c.ownSession(ctx, in.Session); sdk.CodeOf(err) == sdk.NotFound {
		return place{}, absent
	} else if err != nil {
		return place{}, err
	}
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
		for i := range result.Purged {
			result.Purged[i] = *c.givenTo(ctx, &result.Purged[i])
		}
	}
	return result, err
}
