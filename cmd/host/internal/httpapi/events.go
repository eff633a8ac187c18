package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/journal"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/share"
	"github.com/reflectory/reflectory/sdk"
)

// A stream of events is the growing journal. Each follower reads the journal itself, from
// the entry after its last entry. So nothing is lost or sent twice, even if the connection
// breaks or the server restarts, and no commit waits for a reader. If a reader takes
// nothing while its buffer is full, its stream ends; when it connects again, it continues
// at the same place. The journal has digests in place of the memories' content, and so do
// the events.

// The names of events whose names here differ from the journal's.
var eventNames = map[string]string{
	"verdict_recorded": "run.iteration", "run_ended": runEnded,
	"agent.job.completed": jobEnded, "agent.job.failed": jobEnded, "agent.job.cancelled": jobEnded,
}

const (
	runEnded = "run.ended"
	jobEnded = "job.ended"
)

// heartbeat is how often a stream has a comment, so that proxies keep it open.
const heartbeat = 15 * time.Second

// streams counts the streams that are open.
type streams struct {
	most, each int
	share      *share.Share

	mu   sync.Mutex
	from map[string]int
}

func newStreams(l Limits) *streams {
	return &streams{most: l.Streams, each: l.SubjectStreams, share: share.New(share.Options{Places: int64(l.Streams)}), from: map[string]int{}}
}

// count is how many streams are open.
func (s *streams) count() int { return int(s.share.Taken()) }

// open counts a stream of a caller, or refuses it. done must be called at its end. lost is
// closed if the stream has to end for a tenant that has fewer: its reader connects again.
func (s *streams) open(caller core.Caller) (done func(), lost <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	account, ended := caller.Account(), make(chan struct{})
	if s.from[account] >= s.each {
		full := sdk.Errorf(sdk.Exhausted, "subject_streams_full", "the subject has %d streams open (limit %d)", s.from[account], s.each)
		return nil, nil, reached(full, "subject_streams", fmt.Sprintf("close one (a stream can follow up to %d namespaces)", MaxStreamNamespaces))
	}
	place := s.share.Hold(caller.Tenant(), false, func() bool {
		close(ended)
		return true
	})
	if place == nil {
		return nil, nil, reached(sdk.Errorf(sdk.Unavailable, "streams_full", "the server has %d streams open (limit %d)", s.most, s.most), "streams", "try again later")
	}
	s.from[account]++
	return sync.OnceFunc(func() {
		place.Free()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.from[account]--; s.from[account] == 0 {
			delete(s.from, account)
		}
	}), ended, nil
}

// namespaceEvents follows the events of namespaces, from now on or after Last-Event-ID.
func (a *API) namespaceEvents(w http.ResponseWriter, r *request) {
	followed, err := namespacesOf(r.http.URL.RawQuery)
	from := make([]stream, len(followed))
	for i, namespace := range followed {
		if err != nil {
			break
		}
		from[i] = stream{journal.NamespaceStream(namespace), a.config.Host.Databases.Of(namespace)}
		_, err = a.mayFollow(r, "audit_entries", &operation.AuditEntries{Stream: from[i].name, Paging: operation.Paging{Limit: 1}})
	}
	if err != nil {
		a.problems.refuse(w, r, err)
		return
	}
	a.follow(w, r, source{streams: from})
}

// namespacesOf are the namespaces that a query names.
func namespacesOf(query string) ([]string, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, sdk.Errorf(sdk.Invalid, "query_invalid", "the query can't be read")
	}
	var faults faults
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if name != "namespace" {
			faults.add("field_unknown", "/"+jsontext.EscapePointer(core.Cut(name)), "is an unknown parameter")
		}
	}
	list := values["namespace"]
	if n := len(list); n == 0 || n > MaxStreamNamespaces {
		faults.add("namespaces_invalid", "/namespace", "is given %d times, not 1 to %d", n, MaxStreamNamespaces)
	}
	if sorted := slices.Sorted(slices.Values(list)); len(slices.Compact(sorted)) < len(list) {
		faults.add("namespaces_invalid", "/namespace", "has a namespace twice")
	}
	for _, namespace := range list[:min(len(list), MaxStreamNamespaces)] {
		if err := core.CheckNamespace(namespace); err != nil {
			faults = append(faults, sdk.AsError(err).WithDetail("pointer", "/namespace"))
		}
	}
	return list, core.JoinErrors(faults...)
}

// runEvents follows the events of a run, from its first one or after Last-Event-ID.
func (a *API) runEvents(w http.ResponseWriter, r *request) {
	in := &operation.RunGet{ID: r.http.PathValue("id")}
	of, err := a.mayFollowOne(r, "run_get", in) // this completes the id
	if err != nil {
		a.problems.refuse(w, r, err)
		return
	}
	run, err := of.Runs.Get(r.http.Context(), in.ID)
	if err != nil {
		a.problems.refuse(w, r, err)
		return
	}
	pieces := of.Runner.FollowPieces(in.ID)
	defer pieces.Stop()
	a.follow(w, r, source{streams: []stream{{"run/" + in.ID, of}}, whole: true, ends: true, ended: run.Status != core.StatusRunning, run: in.ID, pieces: pieces})
}

// jobEvents follows the events of a job, from its first one or after Last-Event-ID, its progress and the
// pieces of its run's outputs. These aren't recorded: they have no id, and a reader that connects again
// gets only newer ones.
func (a *API) jobEvents(w http.ResponseWriter, r *request) {
	in := &operation.JobGet{ID: r.http.PathValue("id")}
	of, err := a.mayFollowOne(r, "job_get", in) // this completes the id
	var j *job.Job
	if err == nil {
		j, err = of.Jobs.Get(r.http.Context(), in.ID)
	}
	if err != nil {
		a.problems.refuse(w, r, err)
		return
	}
	progress, stop := of.Workers.FollowProgress(j.ID)
	defer stop()
	pieces, run := operation.FollowPieces(core.WithCaller(r.http.Context(), r.caller), of, j)
	defer pieces.Stop()
	a.follow(w, r, source{
		streams: []stream{{job.Stream(j.UserID), of}}, whole: true, ends: true, ended: j.Status.Terminal(),
		job: j.ID, progress: progress, run: run, pieces: pieces,
	})
}

// mayFollow calls the operation that shows the subject of a stream, so that the same scope,
// namespace and policy decide, and returns the host whose database has the subject. A stream
// without entries may be followed.
func (a *API) mayFollow(r *request, name string, in any) (of *host.Host, err error) {
	ctx := core.WithCaller(r.http.Context(), r.caller)
	_, err = a.routes[name].Do(ctx, operation.Call{Host: a.config.Host, By: &of}, in)
	if sdk.ReasonOf(err) == "stream_not_found" {
		return of, nil
	}
	return of, err
}

// mayFollowOne is mayFollow for the stream of the thing whose id is in the path. Such a stream takes
// no query.
func (a *API) mayFollowOne(r *request, name string, in any) (*host.Host, error) {
	r.taken = []string{"id"}
	of, err := a.mayFollow(r, name, in)
	if r.http.URL.RawQuery != "" {
		err = core.JoinErrors(err, sdk.Errorf(sdk.Invalid, "query_invalid", "this operation takes no query"))
	}
	return of, err
}

// lastEventID is the form of a Last-Event-ID: the number of an entry for each stream.
var lastEventID = core.Pattern(`^[0-9]{1,19}(,[0-9]{1,19})*$`)

// parseLastEventID reads the number of an entry for each stream; false for an id that
// doesn't come from this server.
func parseLastEventID(id string, streams int) ([]uint64, bool) {
	parts := strings.Split(id, ",")
	if len(id) > 20*MaxStreamNamespaces || !lastEventID().MatchString(id) || len(parts) != streams {
		return nil, false
	}
	after := make([]uint64, streams)
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 64)
		if err != nil {
			return nil, false
		}
		after[i] = n
	}
	return after, true
}

// eventID is the id that stands for the position after these entries.
func eventID(after []uint64) string {
	parts := make([]string, len(after))
	for i, n := range after {
		parts[i] = strconv.FormatUint(n, 10)
	}
	return strings.Join(parts, ",")
}

// stream is a stream of the journal of a host's database.
type stream struct {
	name string
	host *host.Host
}

// source is where the events of a stream come from.
type source struct {
	streams []stream
	// whole begins with the first existing entry, rather than with the next new entry.
	whole bool
	// ends is whether the stream ends with the run or job that it shows. ended is whether that had
	// ended when the stream began: the last entry is then until.
	ends, ended bool
	until       uint64
	// job selects the entries of one job, and progress has that job's progress.
	job      string
	progress <-chan float64
	// run is the run whose outputs' pieces come from pieces; nil if there are none.
	run    string
	pieces *host.PieceFollower
}

// has reports whether an entry of its streams is one of its events.
func (s *source) has(e *journal.Entry) bool {
	if s.job == "" {
		return true
	}
	var of struct {
		JobID string `json:"job_id"`
	}
	return json.Unmarshal(e.Data, &of) == nil && of.JobID == s.job
}

// isLast reports whether nothing follows an entry, since the run or job that is followed has ended. A
// run that was resumed has further entries after an end.
func (s *source) isLast(ctx context.Context, e *journal.Entry) (bool, error) {
	name := eventNames[e.Type]
	switch {
	case s.ended && e.Seq >= s.until:
		return true, nil
	case !s.ends || !s.has(e):
		return false, nil
	case name != runEnded:
		return name == jobEnded, nil
	}
	head, err := s.streams[0].head(ctx)
	return head == e.Seq, err
}

// head is the number of the newest entry of a stream.
func (s *stream) head(ctx context.Context) (seq uint64, err error) {
	err = s.host.Store.View(ctx, func(r core.Reader) error {
		head, err := journal.ReadHead(r, s.name)
		seq = head.Seq
		return err
	})
	return seq, err
}

// follow answers with the events of streams until the reader or the server goes away.
func (a *API) follow(w http.ResponseWriter, r *request, from source) {
	after, err := a.begin(r, from.streams, from.whole)
	if err == nil {
		err = r.mustAccept("text/event-stream")
	}
	if err != nil {
		a.problems.refuse(w, r, err)
		return
	}
	if from.ended {
		if from.until, err = from.streams[0].head(r.http.Context()); err == nil && after[0] >= from.until && r.http.Header.Get("Last-Event-ID") != "" {
			r.write(w, http.StatusNoContent, "", nil) // so that a browser doesn't connect again
			return
		}
	}
	var done func()
	var lost <-chan struct{}
	if err == nil {
		done, lost, err = a.streams.open(r.caller)
	}
	if err != nil {
		a.problems.refuse(w, r, err)
		return
	}
	defer done()
	ctx, stop := context.WithCancel(r.http.Context())
	f := &follower{api: a, request: r, source: from, after: after, events: make(chan *followed, streamBuffer), lost: lost, stop: stop}
	var readers sync.WaitGroup
	for i := range from.streams {
		readers.Go(func() { f.read(ctx, i) })
	}
	defer readers.Wait()
	defer stop()
	r.status = http.StatusOK
	f.write(ctx, w)
}

// begin returns the entries after which the events begin.
func (a *API) begin(r *request, streams []stream, whole bool) ([]uint64, error) {
	if ids := r.http.Header.Values("Last-Event-ID"); len(ids) > 0 {
		after, ok := parseLastEventID(ids[0], len(streams))
		if !ok || len(ids) > 1 {
			return nil, sdk.Errorf(sdk.Invalid, "last_event_id_invalid", "Last-Event-ID is not from a stream of %d", len(streams)).
				WithHint("leave it out to begin again").WithDetail("header", "Last-Event-ID")
		}
		return after, nil
	}
	after := make([]uint64, len(streams))
	if whole {
		return after, nil
	}
	for i, of := range streams {
		head, err := of.head(r.http.Context())
		if err != nil {
			return nil, err
		}
		after[i] = head
	}
	return after, nil
}
