package operation

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// A session belongs to the subject that first used it. The result of a recall in a session shows
// how many turns the session had and their outcomes, and a recall advances the turns. So for other
// subjects there is no such session, and its name is free: a subject's sessions are stored under
// their names with a mark of the subject, which the subject itself needn't know. The
// operator, everybody whom a server lets in without credentials, and sessions that are older than
// this have the names themselves.
//
// This applies to the local operator too, with two exceptions. A caller that resumes a run continues
// in the run's session, and the operator may resume any run. A caller with the scope operate may
// look at the sessions of all subjects in the namespaces that it reaches, but not use them: a turn is
// shown only to a caller that reaches all its namespaces. It sees their names with the marks.

// oversees reports whether the caller may look at other subjects' sessions.
func (c *Call) oversees() bool { return c.caller.Has(core.ScopeOperate) }

// ownSession returns a session that the caller may use, and completes its name; nil for a session that
// had no turn yet. For another subject's session, the result is the same as for a session that doesn't
// exist.
func (c *Call) ownSession(ctx context.Context, name *string) (*memory.Session, error) {
	found, err := c.Host.Memories.Sessions.Head(ctx, *name)
	marks := memory.SessionMarks(c.caller)
	whole := len(marks) == 0 || slices.ContainsFunc(marks, func(mark string) bool { return strings.HasSuffix(*name, core.ScopedName("", mark)) })
	switch {
	case err != nil || *name == c.runSession || found != nil && c.owns(found):
		return found, err
	case whole && found != nil:
		return nil, memory.SessionNotFound(*name)
	case whole || memory.CheckSession(*name) != nil:
		return nil, nil
	}
	free := ""
	for _, mark := range marks {
		marked := core.ScopedName(*name, mark)
		found, err := c.Host.Memories.Sessions.Head(ctx, marked)
		switch {
		case err != nil:
			return nil, err
		case found == nil:
			free = cmp.Or(free, marked)
		case c.owns(found):
			*name = marked
			return found, nil
		}
	}
	*name = cmp.Or(free, *name)
	return nil, nil
}

// owns reports whether the caller may use a session.
func (c *Call) owns(s *memory.Session) bool {
	if c.caller.Subject == core.OperatorSubject && (s.Owner == "" || c.operation.Name == "run_resume") {
		return true
	}
	return s.Owner == c.caller.Subject && (s.Namespace == "" || c.reaches(s.Namespace))
}

// shownSession returns a session that the caller may look at, and completes its name.
func (c *Call) shownSession(ctx context.Context, name *string) (*memory.Session, error) {
	whole, absent := *name, memory.SessionNotFound(*name)
	found, err := c.ownSession(ctx, &whole)
	if found != nil || err != nil && sdk.CodeOf(err) != sdk.NotFound {
		*name = whole
		return found, err
	}
	if !c.oversees() {
		return nil, absent
	}
	sees := func(namespace string) bool { return c.reaches(cmp.Or(namespace, "**")) }
	found, err = c.Host.Memories.Sessions.Head(ctx, *name)
	if err != nil || found != nil && sees(found.Namespace) {
		return found, err
	}
	list, _, err := c.Host.Memories.Sessions.List(ctx, &memory.SessionFilter{Any: true, Named: *name, In: sees, Limit: 2})
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, absent
	case len(list) > 1:
		return nil, sdk.Errorf(sdk.Conflict, "session_ambiguous", "several subjects have a session %q, such as %s and %s", *name, list[0].Owner, list[1].Owner).
			WithHint("name it by its key, such as %s or %s", list[0].Key, list[1].Key).WithDetail("session", *name)
	}
	*name = list[0].Key
	return &list[0], nil
}

// chosenNames shows the caller's sessions by the names that the caller chose.
func (c *Call) chosenNames(out any) {
	chosen := func(name *string) {
		for _, mark := range memory.SessionMarks(c.caller) {
			*name = strings.TrimSuffix(*name, core.ScopedName("", mark))
		}
	}
	switch out := out.(type) {
	case *Recalled:
		chosen(&out.Session)
	case *core.FeedbackResult:
		chosen(&out.Session)
	case *Run:
		chosen(&out.Run.Session)
	}
}

// sessions are the operations on sessions.
func sessions() []Operation {
	return []Operation{
		define(Operation{
			Name: "session_get", Method: "GET", Path: "/v1/sessions/{session}", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true,
			Doc: "Show how a session's turns went, the oldest first.",
		}, ofSessionGet, sessionGet),
		define(Operation{
			Name: "session_list", listed: true, Method: "GET", Path: "/v1/sessions", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true,
			Doc: "List sessions by name: the caller's own or, with the scope operate, the sessions of all subjects in the namespaces that the caller reaches.",
		}, ofSessions, sessionList),
		define(Operation{
			Name: "session_reset", named: true, Method: "POST", Path: "/v1/sessions/{session}/reset", Scope: core.ScopeMemoryWrite,
			Doc: "Open a new window of a session, which sees nothing of its earlier turns. Memories stay, and the numbers of turns continue.",
		}, ofSession(func(in *SessionReset) *string { return &in.Session }), sessionReset),
		define(Operation{
			Name: "session_resume", Method: "POST", Path: "/v1/sessions/{session}/resume", Scope: core.ScopeMemoryWrite,
			Doc: "Go back to an earlier window of a session.",
		}, ofSession(func(in *SessionResume) *string { return &in.Session }), sessionResume),
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
	// Since leaves out sessions whose newest turn began before; the zero time selects all.
	Since time.Time `json:"since,omitzero"`
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

// ofSession is the place of a session of the caller.
func ofSession[In any](name func(*In) *string) func(context.Context, *Call, *In) (place, error) {
	return func(ctx context.Context, c *Call, in *In) (place, error) {
		absent := absence(memory.SessionNotFound, *name(in))
		found, err := c.ownSession(ctx, name(in))
		return atSession(found, err, absent)
	}
}

// ofSessionGet is the place of a session that the caller may look at.
func ofSessionGet(ctx context.Context, c *Call, in *SessionGet) (place, error) {
	absent := absence(memory.SessionNotFound, in.Session)
	found, err := c.shownSession(ctx, &in.Session)
	return atSession(found, err, absent)
}

// atSession is the namespace of a session's first recall. For a caller that doesn't reach it any more,
// there is no such session.
func atSession(s *memory.Session, err error, absent func() error) (place, error) {
	switch {
	case err != nil:
		return place{}, err
	case s == nil:
		return place{}, absent()
	case s.Namespace == "":
		return place{}, nil
	}
	return place{namespaces: []string{s.Namespace}, absent: absent}, nil
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
	found, turns, more, err := c.Host.Memories.Sessions.Get(ctx, &memory.TurnFilter{Session: in.Session, Any: true, In: c.reaches, After: after, Limit: limit})
	if err != nil {
		return nil, err
	}
	for i := range turns {
		turns[i].Memories = orEmpty(c.seen(ctx, turns[i].Memories))
		if feedback := turns[i].Feedback; feedback != nil {
			feedback.Session = found.Session
		}
		if about := turns[i].Reflection; about != nil {
			about.SessionID = found.Session
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
	list, next, err := c.Host.Memories.Sessions.List(ctx, &memory.SessionFilter{
		Owner: cmp.Or(in.Owner, c.caller.Subject), Any: in.Owner == "" && c.oversees(), Text: in.Text, Since: in.Since, After: at, Limit: limit, In: func(namespace string) bool {
			return within(namespace, in.Namespace, in.Subtree) && c.reaches(cmp.Or(namespace, "**"))
		},
	})
	if err != nil {
		return nil, err
	}
	return pageOf(ctx, c, list, next, filter)
}

func sessionReset(ctx context.Context, c *Call, in *SessionReset) (*memory.Session, error) {
	return c.Host.Memories.Sessions.Reset(ctx, in.Session)
}

func sessionResume(ctx context.Context, c *Call, in *SessionResume) (*memory.Session, error) {
	return c.Host.Memories.Sessions.Resume(ctx, in.Session, in.Window)
}

// ofRecall is the place of a recall. A recall that names no namespace searches the namespace in
// which its session began.
func ofRecall(ctx context.Context, c *Call, in *core.RecallRequest) (place, error) {
	if in.Session != "" {
		found, err := c.ownSession(ctx, &in.Session)
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
		m.About, m.Question = c.seen(ctx, m.About), strings.Join(c.seen(ctx, []string{m.Question}), "")
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
	named := in.Session
	absent := func() error { return memory.TurnNotFound(named, in.Turn) }
	if _, err := c.ownSession(ctx, &in.Session); sdk.CodeOf(err) == sdk.NotFound {
		return place{}, absent()
	} else if err != nil {
		return place{}, err
	}
	namespaces, found, err := c.Host.Memories.Sessions.TurnNamespaces(ctx, in.Session, in.Turn)
	switch {
	case err != nil:
		return place{}, err
	case !found:
		return place{}, absent()
	case len(namespaces) == 0:
		namespaces = []string{"**"}
	}
	for _, id := range memoriesOf(in) { // the turn knows its handles, and refuses ids that match nothing
		if core.IsHandle(*id) {
			continue
		}
		if _, err := c.atMemory(ctx, id); err != nil && sdk.CodeOf(err) != sdk.NotFound {
			return place{}, err
		}
	}
	return place{namespaces: namespaces, absent: absent}, nil
}

// memoriesOf are the ids of memories in a feedback.
func memoriesOf(in *core.FeedbackRequest) (ids []*string) {
	for i := range in.Used {
		ids = append(ids, &in.Used[i])
	}
	for i := range in.Assumed {
		ids = append(ids, &in.Assumed[i])
	}
	for i := range in.ToolOutcomes {
		if id := &in.ToolOutcomes[i].MemoryID; *id != "" {
			ids = append(ids, id)
		}
	}
	return ids
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
