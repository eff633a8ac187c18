package operation

import (
	"context"
	"github.com/reflectory/reflectory/core/job"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/core/store"
	"github.com/reflectory/reflectory/sdk"
)

// The journal holds what was done in every namespace, in streams. A caller who may read a
// namespace's memories may read its stream, and a caller who reaches a run's namespace may
// read the run's stream. All other streams, such as the streams of sessions and decisions,
// concern several namespaces, and so are only for operators who reach every namespace.

// audit are the operations on the journal.
func audit() []Operation {
	return []Operation{
		define(Operation{
			Name: "audit_head", Method: "GET", Path: "/v1/audit/head", Scope: core.ScopeOperate, ReadOnly: true, Idempotent: true,
			Doc: "Return the head of the journal's root stream, which covers every event so far.",
		}, inAll[AuditHead], auditHead),
		define(Operation{
			Name: "audit_verify", Method: "POST", Path: "/v1/audit/verify", Scope: core.ScopeOperate, ReadOnly: true, Idempotent: true, Long: true, Job: job.Workflow,
			Doc: "Check every stream of the journal from its first entry to its head.",
		}, inAll[AuditVerify], auditVerify),
		define(Operation{
			Name: "audit_verify_segment", Method: "POST", Path: "/v1/audit/segments/verify", Scope: core.ScopeOperate, ReadOnly: true, Idempotent: true, Long: true, Body: true,
			Doc: "Verify a file that store_prune wrote, sent as the body.",
		}, inAll[AuditVerifySegment], auditVerifySegment),
		define(Operation{
			Name: "audit_streams", Method: "GET", Path: "/v1/audit/streams", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true,
			Doc: "List the journal's streams with their heads, by name.",
		}, onHost[AuditStreams], auditStreams),
		define(Operation{
			Name: "audit_entries", Method: "GET", Path: "/v1/audit/entries", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true,
			Doc: "List the newest entries of a stream, or the entries from a number on, the oldest first.",
		}, ofStream, auditEntries),
	}
}

// AuditHead asks for the root's head.
type AuditHead struct{}

// Head is a head of the journal's root.
type Head struct {
	// Text is the whole head, in the form to keep elsewhere.
	Text string `json:"head"`
	journal.Head
}

func auditHead(ctx context.Context, c *Call, _ *AuditHead) (*Head, error) {
	head, err := c.Host.Membership.RecordRoot(ctx)
	if err != nil {
		return nil, err
	}
	return &Head{head.String(), head}, nil
}

// AuditVerify asks whether the journal is unchanged.
type AuditVerify struct {
	// Head is a head of the root that was kept elsewhere; nil means none. An empty head
	// proves nothing, and is refused.
	Head *string `json:"head,omitempty"`
}

// Audited is the result of an audit. A damaged journal is a result, not an error.
type Audited struct {
	Valid bool `json:"valid"`
	journal.Audited
	// Kept is the head in the request; "" if there was none.
	Kept    string          `json:"kept_head,omitempty"`
	Problem *core.ErrorInfo `json:"problem,omitempty"`
}

func auditVerify(ctx context.Context, c *Call, in *AuditVerify) (*Audited, error) {
	check := journal.Audit{Progress: func(n int64) { c.progress(Progress{What: "entries", Done: n}) }}
	out := &Audited{}
	if in.Head != nil {
		head, err := journal.ParseHead(*in.Head)
		if err != nil {
			return nil, err
		}
		if check.Kept = head; head.Seq > 0 {
			out.Kept = head.String()
		}
	}
	err := c.Host.Store.View(ctx, func(r core.Reader) (err error) {
		out.Audited, err = check.Verify(ctx, r)
		return err
	})
	if err != nil && !journal.IsBroken(err) {
		return nil, err
	}
	if out.Valid = err == nil; !out.Valid {
		out.Problem = core.NewErrorInfo(err)
	}
	return out, nil
}

// AuditVerifySegment asks whether a file of segments is unchanged since it was sealed.
type AuditVerifySegment struct {
	// Name is the name of the file in error messages.
	Name string `json:"name,omitempty"`
}

// AuditedSegment is the result of checking a file. A file that differs from its seal is a
// result, not an error.
type AuditedSegment struct {
	Valid bool `json:"valid"`
	store.CheckedSegments
	Problem *core.ErrorInfo `json:"problem,omitempty"`
}

func auditVerifySegment(ctx context.Context, c *Call, in *AuditVerifySegment) (*AuditedSegment, error) {
	if c.Body == nil {
		return nil, bodyMissing("a file that store prune wrote")
	}
	out := &AuditedSegment{}
	err := c.Host.Store.View(ctx, func(r core.Reader) (err error) {
		out.CheckedSegments, err = store.CheckSegments(ctx, r, c.Body)
		return err
	})
	if err != nil && in.Name != "" {
		err = sdk.Wrap(in.Name, err)
	}
	if err != nil && !journal.IsBroken(err) && sdk.ReasonOf(err) != "segment_broken" {
		return nil, err
	}
	if out.Valid = err == nil; !out.Valid {
		out.Problem = core.NewErrorInfo(err)
	}
	return out, nil
}

// AuditStreams asks for all streams that the caller may read.
type AuditStreams struct {
	Paging
}

func auditStreams(ctx context.Context, c *Call, in *AuditStreams) (*Page[journal.StreamHead], error) {
	after, limit, err := in.open(ctx, c, nil)
	if err != nil {
		return nil, err
	}
	var list []journal.StreamHead
	next := ""
	err = c.Host.Store.View(ctx, func(r core.Reader) error {
		return journal.StreamsAfter(r, after, func(s journal.StreamHead) (bool, error) {
			if mayRead, err := c.readsStream(r, s.Stream); err != nil || !mayRead {
				return err == nil, err
			}
			if len(list) == limit {
				next = list[limit-1].Stream
				return false, nil
			}
			list = append(list, s)
			return true, ctx.Err()
		})
	})
	if err != nil {
		return nil, err
	}
	return pageOf(ctx, c, list, next, nil)
}

// AuditEntries names a stream: run/RUN, namespace/NAMESPACE, or another name.
type AuditEntries struct {
	Stream string `json:"stream"`
	// From is the number of the first entry; with 0, the newest entries are shown. With
	// From, the next page has newer entries, otherwise older ones.
	From uint64 `json:"from,omitempty"`
	// Types are the types of the entries to show, up to 100; none means all. A page may
	// then have fewer entries than its limit without being the last: each page reads up
	// to [MaxAuditLooked] entries.
	Types []string `json:"types,omitempty"`
	// Since leaves out earlier entries, with the same bound on a page; the zero time selects all.
	Since time.Time `json:"since,omitzero"`
	Paging
}

// StreamEntries are entries of a stream.
type StreamEntries struct {
	Stream string       `json:"stream"`
	Head   journal.Head `json:"head"`
	// Pruned is the seal of the pruned entries; nil if nothing was pruned.
	Pruned *Seal `json:"pruned,omitempty"`
	Page[journal.Entry]
}

// Seal describes the entries that were moved to a file last, and the entry of
// [journal.PrunedStream] that records it.
type Seal struct {
	Entry uint64 `json:"seal"`
	journal.SegmentPruned
}

// ofStream is the place of a stream's entries. Streams that name neither a namespace nor
// a run are only for operators, whether they exist or not.
func ofStream(ctx context.Context, c *Call, in *AuditEntries) (place, error) {
	if namespace, ok := strings.CutPrefix(in.Stream, namespaceStream); ok && namespace != "" {
		return place{namespaces: []string{namespace}}, nil
	}
	if id, ok := strings.CutPrefix(in.Stream, runStream); ok {
		absent := absence(streamNotFound, in.Stream)
		namespace, err := c.Host.Runs.RunNamespace(ctx, id)
		switch code := sdk.CodeOf(err); {
		case err == nil:
			return place{namespaces: []string{runNamespace(namespace)}, absent: absent}, nil
		case code != sdk.NotFound && code != sdk.Invalid:
			return place{}, err
		case !c.reaches("**"):
			return place{}, absent()
		}
		return place{namespaces: []string{"**"}}, nil // the run was pruned
	}
	if !c.caller.Has(core.ScopeOperate) {
		return place{}, sdk.Errorf(sdk.Denied, "scope_denied", "streams of the journal that belong to no namespace or run need the scope %s, which the caller doesn't have", core.ScopeOperate).
			WithHint("ask the operator for a token with that scope").WithDetail("scope", string(core.ScopeOperate))
	}
	return place{namespaces: []string{"**"}}, nil
}

// The prefixes of streams' names.
const (
	namespaceStream = "namespace/"
	runStream       = "run/"
)

// readsStream reports whether the caller may read a stream, by the rules of ofStream.
func (c *Call) readsStream(r core.Reader, stream string) (bool, error) {
	if namespace, ok := strings.CutPrefix(stream, namespaceStream); ok && namespace != "" {
		return c.reaches(namespace), nil
	}
	id, isRun := strings.CutPrefix(stream, runStream)
	switch {
	case c.reaches("**"):
		return isRun || c.caller.Has(core.ScopeOperate), nil
	case !isRun:
		return false, nil
	}
	namespace, err := run.ReadRunNamespace(r, id)
	if code := sdk.CodeOf(err); code == sdk.NotFound || code == sdk.Invalid {
		return false, nil // the run was pruned, and its namespace isn't known any more
	}
	return err == nil && c.reaches(runNamespace(namespace)), err
}

// runNamespace is the namespace of a run.
func runNamespace(namespace string) string {
	if namespace == "" {
		return config.DefaultNamespace
	}
	return namespace
}

func streamNotFound(stream string) error {
	return sdk.Errorf(sdk.NotFound, "stream_not_found", "there is no stream %.100q", stream).
		WithHint("list them").WithAction("audit show")
}

// MaxAuditLooked is how many entries a page reads if it shows only some types.
const MaxAuditLooked = 10_000

// maxTypes bounds a filter by types: there are fewer.
const maxTypes = 100

// checkTypes refuses types that no event has.
func (in *AuditEntries) checkTypes() error {
	if len(in.Types) > maxTypes {
		return sdk.Errorf(sdk.Invalid, "types_invalid", "%d types are given (limit %d)", len(in.Types), maxTypes).WithDetail("field", "types")
	}
	if len(in.Types) == 0 { // the usual stream or page asks for no catalogue
		return nil
	}
	var known []string
	for _, t := range journal.Catalogue() {
		known = append(known, t.Type)
	}
	var problems []error
	for _, name := range in.Types {
		if !slices.Contains(known, name) {
			problems = append(problems, sdk.Errorf(sdk.Invalid, "types_invalid", "there are no events of type %q", core.Cut(name)).
				WithHint("%s", sdk.DidYouMean(name, known, "list the types")).WithDetail("field", "types"))
		}
	}
	return core.JoinErrors(problems...)
}

// shows reports whether an entry has one of the types, and isn't too old.
func (in *AuditEntries) shows(e *journal.Entry) bool {
	return (len(in.Types) == 0 || slices.Contains(in.Types, e.Type)) && !e.At.Before(in.Since)
}

func auditEntries(ctx context.Context, c *Call, in *AuditEntries) (*StreamEntries, error) {
	filter := *in
	filter.Paging = Paging{}
	at, limit, err := in.open(ctx, c, filter)
	if err != nil {
		return nil, err
	}
	edge, _ := strconv.ParseUint(at, 10, 64) // 0 for the first page
	out := &StreamEntries{Stream: in.Stream}
	var entries []journal.Entry
	err = c.Host.Store.View(ctx, func(r core.Reader) error {
		if out.Head, err = journal.ReadHead(r, in.Stream); err != nil {
			return err
		}
		if out.Head.Seq == 0 {
			return streamNotFound(in.Stream)
		}
		seal, err := journal.ReadSeal(r, in.Stream)
		if err != nil {
			return err
		}
		if seal.Seq > 0 {
			out.Pruned = &Seal{seal.Seq, seal.SegmentPruned}
		}
		look := uint64(limit) //nolint:gosec // the limit is from 1 to MaxLimit
		if len(in.Types) > 0 || !in.Since.IsZero() {
			look = MaxAuditLooked
		}
		first, last, next := entryRange(in.From, edge, look, seal.Last, out.Head.Seq)
		if first <= last {
			err = journal.ReadFrom(r, in.Stream, first, func(e journal.Entry) (bool, error) {
				if e.Seq <= last && in.shows(&e) {
					entries = append(entries, e)
				}
				return e.Seq < last, ctx.Err()
			})
		}
		if over := len(entries) - limit; over > 0 && in.From > 0 { // the rest is for the next page
			entries = entries[:limit]
			next = entries[limit-1].Seq + 1
		} else if over > 0 {
			entries = entries[over:]
			next = entries[0].Seq - 1
		}
		at = ""
		if next > 0 {
			at = strconv.FormatUint(next, 10)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	page, err := pageOf(ctx, c, entries, at, filter)
	if err != nil {
		return nil, err
	}
	out.Page = *page
	return out, nil
}

// entryRange returns the range of a page's entries, and the edge of the next page: where
// it begins or, if the pages go backwards, where it ends. The edge is 0 if there is no
// next page. The entries up to pruned don't exist, and head is the last entry. edge is
// the edge of this page, as the previous page returned it; 0 for the first page.
func entryRange(from, edge, limit, pruned, head uint64) (first, last, next uint64) {
	if from > 0 {
		first = max(from, edge, pruned+1)
		if last = min(first+limit-1, head); last < head {
			next = last + 1
		}
		return first, last, next
	}
	if last = head; edge > 0 {
		last = min(edge, head)
	}
	first = pruned + 1
	if last >= first+limit {
		first = last - limit + 1
		next = first - 1
	}
	return first, last, next
}
