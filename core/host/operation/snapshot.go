package operation

import (
	"context"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/sdk"
)

// A snapshot belongs to a session, and is about a namespace. A caller sees the snapshots of
// its own sessions, in the namespaces that it reaches.

// snapshots are the operations on snapshots.
func snapshots() []Operation {
	return []Operation{
		define(Operation{
			Name: "snapshot_build", named: true, Method: "POST", Path: "/v1/snapshots", Scope: core.ScopeMemoryWrite, Long: true, // it may ask a model
			Doc: "Build the prompt context of a turn from blocks and, with a query, from recall, knowledge and the session. A turn has one snapshot.",
		}, ofSnapshotBuild, snapshotBuild),
		define(Operation{
			Name: "snapshot_list", Method: "GET", Path: "/v1/snapshots", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true,
			Doc: "List snapshots: of a session by turns, or of a namespace, the newest first.",
		}, ofSnapshots, snapshotList),
		define(Operation{
			Name: "snapshot_get", Method: "GET", Path: "/v1/snapshots/{id}", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true,
			Doc: "Show a snapshot: its blocks, and which were dropped or cut, and why.",
		}, ofSnapshot(func(in *SnapshotGet) *string { return &in.ID }), snapshotGet),
		define(Operation{
			Name: "snapshot_diff", Method: "GET", Path: "/v1/snapshots/{id}/diff", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true,
			Doc: "Compare a snapshot with another, by default the previous one of its session, and name the block that broke the cached prefix.",
		}, ofSnapshotDiff, snapshotDiff),
		define(Operation{
			Name: "snapshot_replay", Method: "POST", Path: "/v1/snapshots/{id}/replay", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true,
			Doc: "Rebuild a snapshot from what it was made from, and say whether the result is the same.",
		}, ofSnapshot(func(in *SnapshotReplay) *string { return &in.ID }), snapshotReplay),
	}
}

// ofSnapshots is the place of a list: its namespace.
func ofSnapshots(ctx context.Context, c *Call, in *SnapshotList) (place, error) {
	if in.Session != "" {
		if _, err := c.ownSession(ctx, &in.Session); err != nil && sdk.CodeOf(err) != sdk.NotFound {
			return place{}, err
		}
	}
	return inNamespace(func(in *SnapshotList) *string { return &in.Namespace })(ctx, c, in)
}

// SnapshotList selects snapshots.
type SnapshotList struct {
	// Namespace is the namespace whose snapshots are listed; "" is the configured one.
	Namespace string `json:"namespace,omitempty"`
	// Session selects the snapshots of one session; "" is any.
	Session string `json:"session,omitempty"`
	// Since leaves out snapshots that were made before; the zero time selects all.
	Since time.Time `json:"since,omitzero"`
	Paging
}

// SnapshotGet names a snapshot.
type SnapshotGet struct {
	ID string `json:"id"`
}

// SnapshotDiff names two snapshots.
type SnapshotDiff struct {
	ID string `json:"id"`
	// With is the snapshot to compare with; "" is the previous snapshot of its session.
	With string `json:"with,omitempty"`
}

// SnapshotReplay names a snapshot.
type SnapshotReplay struct {
	ID string `json:"id"`
}

// ofSnapshotBuild is the place of a turn: its namespace, and the namespace of the snapshot that the
// turn already has. A block may only name a memory that the caller reaches: the digest of its text,
// and whether a purge removed it, would say that the memory exists.
func ofSnapshotBuild(ctx context.Context, c *Call, in *inject.BuildRequest) (place, error) {
	found, err := c.ownSession(ctx, &in.Session)
	if err != nil {
		return place{}, err
	}
	if found != nil && in.Namespace == "" {
		in.Namespace = found.Namespace
	}
	for i := range in.Blocks {
		if id := &in.Blocks[i].MemoryID; *id != "" {
			ids := []string{*id}
			if _, err := c.atMemories(ctx, ids); err != nil {
				return place{}, err
			}
			*id = ids[0]
		}
	}
	at, err := inNamespace(func(in *inject.BuildRequest) *string { return &in.Namespace })(ctx, c, in)
	if err != nil || in.Session == "" || in.Turn < 1 {
		return at, err
	}
	made, err := c.Host.Snapshots.OfTurn(ctx, in.Session, in.Turn)
	if err == nil && made != nil {
		at.namespaces = append(at.namespaces, made.Namespace)
	}
	return at, err
}

func snapshotBuild(ctx context.Context, c *Call, in *inject.BuildRequest) (*inject.Built, error) {
	if in.Query != "" { // which recalls
		o, err := Find("memory_recall")
		if err != nil {
			return nil, err
		}
		r := &core.RecallRequest{Session: in.Session, Query: in.Query, RecallFilter: core.RecallFilter{Namespace: in.Namespace}}
		if err := c.check(ctx, &o, r); err != nil {
			return nil, err
		}
	}
	by := inject.FromCaller
	if c.caller.Has(core.ScopeOperate) {
		by = inject.FromOperator
	}
	return c.Host.Injections.Build(ctx, in, by)
}

func (in *SnapshotList) check() error {
	return core.JoinErrors(checkNamespace(in.Namespace), in.Paging.check())
}

func snapshotList(ctx context.Context, c *Call, in *SnapshotList) (*Page[*inject.Snapshot], error) {
	filter := *in
	filter.Paging = Paging{}
	at, limit, err := in.open(ctx, c, filter)
	if err != nil {
		return nil, err
	}
	found, err := c.Host.Snapshots.List(ctx, inject.Filter{
		Namespace: in.Namespace, Session: in.Session, After: at, Limit: limit,
		Of: func(s *inject.Snapshot) bool {
			return s.Namespace == in.Namespace && !s.CreatedAt.Before(in.Since) && c.mayRead(ctx, s)
		},
	})
	if err != nil {
		return nil, err
	}
	return pageOf(ctx, c, found.Snapshots, found.Next, filter)
}

// mayRead reports whether a caller may see a snapshot: the snapshots of its own sessions, or all
// snapshots if it reaches every namespace, since it could also read what they were made from.
func (c *Call) mayRead(ctx context.Context, s *inject.Snapshot) bool {
	if c.reaches("**") {
		return true
	}
	found, err := c.Host.Memories.Sessions.Head(ctx, s.SessionID)
	return err == nil && (found == nil || c.owns(found))
}

// ofSnapshot is the place of a request that names a snapshot, by its id or, for a caller that
// reaches every namespace, the beginning of its id.
func ofSnapshot[In any](id func(*In) *string) func(context.Context, *Call, *In) (place, error) {
	return func(ctx context.Context, c *Call, in *In) (place, error) { return c.atSnapshot(ctx, id(in)) }
}

// atSnapshot finds a snapshot, completes its id, and returns its place.
func (c *Call) atSnapshot(ctx context.Context, id *string) (place, error) {
	absent := absence(inject.NotFound, *id)
	find := c.Host.Snapshots.Get
	if c.reaches("**") {
		find = c.Host.Snapshots.Find
	}
	found, err := find(ctx, *id)
	if err != nil {
		return place{}, c.known(err, absent)
	}
	if !c.mayRead(ctx, found) {
		return place{}, absent()
	}
	*id = found.SnapshotID
	return place{namespaces: []string{found.Namespace}, absent: absent}, nil
}

// ofSnapshotDiff is the place of two snapshots.
func ofSnapshotDiff(ctx context.Context, c *Call, in *SnapshotDiff) (place, error) {
	at, err := c.atSnapshot(ctx, &in.ID)
	if err != nil || !c.reaches(at.namespaces[0]) {
		return at, err
	}
	if in.With == "" {
		if in.With, err = c.before(ctx, in.ID); err != nil {
			return place{}, err
		}
	}
	other, err := c.atSnapshot(ctx, &in.With)
	if err != nil {
		return place{}, err
	}
	if !c.reaches(other.namespaces[0]) {
		return place{}, other.absent()
	}
	at.namespaces = append(at.namespaces, other.namespaces...)
	return at, nil
}

// before is the id of the session's snapshot before a given one.
func (c *Call) before(ctx context.Context, id string) (string, error) {
	s, err := c.Host.Snapshots.Get(ctx, id)
	if err != nil {
		return "", err
	}
	before, err := c.Host.Snapshots.Before(ctx, s.SessionID, s.TurnID)
	if err == nil && before == nil {
		err = sdk.Errorf(sdk.NotFound, "snapshot_first", "snapshot %s is the first of its session", id).
			WithHint("name another to compare it with").WithDetail("id", id)
	}
	if err != nil {
		return "", err
	}
	return before.SnapshotID, nil
}

func snapshotGet(ctx context.Context, c *Call, in *SnapshotGet) (*inject.Snapshot, error) {
	return c.Host.Snapshots.Get(ctx, in.ID)
}

func snapshotDiff(ctx context.Context, c *Call, in *SnapshotDiff) (*inject.Diff, error) {
	to, err := c.Host.Snapshots.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	from, err := c.Host.Snapshots.Get(ctx, in.With)
	if err != nil {
		return nil, err
	}
	return inject.Compare(from, to), nil
}

func snapshotReplay(ctx context.Context, c *Call, in *SnapshotReplay) (*inject.Replay, error) {
	return c.Host.Snapshots.Replay(ctx, in.ID)
}
