package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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
	"verdict_recorded": "run.iteration", "run_ended": "run.ended",
	"agent.job.completed": jobEnded, "agent.job.failed": jobEnded, "agent.job.cancelled": jobEnded,
}

const jobEnded = "job.ended"

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
	subject, ended := caller.Subject, make(chan struct{})
	if s.from[subject] >= s.each {
		return nil, nil, sdk.Errorf(sdk.Exhausted, "subject_streams_full", "the subject has %d streams open (limit %d)", s.from[subject], s.each).
			WithHint("close one; a stream can follow up to %d namespaces", MaxStreamNamespaces)
	}
	place := s.share.Hold(caller.Tenant(), false, func() bool {
		close(ended)
		return true
	})
	if place == nil {
		return nil, nil, sdk.Errorf(sdk.Unavailable, "streams_full", "the server has %d streams open (limit %d)", s.most, s.most)
	}
	s.from[subject]++
	return sync.OnceFunc(func() {
		place.Free()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.from[subject]--; s.from[subject] == 0 {
			delete(s.from, subject)
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
		from[i] = stream{journal.NamespaceStream(namespace), a.config.Host.DatabaseOf(namespace)}
		_, err = a.mayFollow(r, "audit_entries", &operation.AuditEntries{Stream: from[i].name, Paging: operation.Paging{Limit: 1}})
	}
	if err != nil {
		a.refuse(w, r, err)
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
			faults.add("field_unknown", "/"+core.EscapePointer(core.Cut(name)), "is no parameter that there is")
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
	return list, faults.err()
}

// runEvents follows the events of a run, from its first one or after Last-Event-ID.
func (a *API) runEvents(w http.ResponseWriter, r *request) {
	r.taken = []string{"id"}
	in := &operation.RunGet{ID: r.http.PathValue("id")}
	of, err := a.mayFollow(r, "run_get", in) // this completes the id
	if r.http.URL.RawQuery != "" {
		err = core.JoinErrors(err, sdk.Errorf(sdk.Invalid, "query_invalid", "this operation takes no query"))
	}
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	a.follow(w, r, source{streams: []stream{{"run/" + in.ID, of}}, whole: true})
}

// jobEvents follows the events of a job, from its first one or after Last-Event-ID, and its
// progress. The progress isn't recorded: it has no id, and a reader that connects again gets only
// newer values.
func (a *API) jobEvents(w http.ResponseWriter, r *request) {
	r.taken = []string{"id"}
	in := &operation.JobGet{ID: r.http.PathValue("id")}
	of, err := a.mayFollow(r, "job_get", in) // this completes the id
	if r.http.URL.RawQuery != "" {
		err = core.JoinErrors(err, sdk.Errorf(sdk.Invalid, "query_invalid", "this operation takes no query"))
	}
	var j *job.Job
	if err == nil {
		j, err = of.Jobs.Peek(r.http.Context(), in.ID)
	}
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	progress, stop := of.FollowProgress(j.ID)
	defer stop()
	a.follow(w, r, source{streams: []stream{{job.Stream(j.UserID), of}}, whole: true, job: j.ID, progress: progress})
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
	// job selects the entries of one job, and progress has that job's progress.
	job      string
	progress <-chan float64
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

// follow answers with the events of streams until the reader or the server goes away.
func (a *API) follow(w http.ResponseWriter, r *request, from source) {
	after, err := a.begin(r, from.streams, from.whole)
	if err == nil {
		err = r.mustAccept("text/event-stream")
	}
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	done, lost, err := a.streams.open(r.caller)
	if err != nil {
		a.refuse(w, r, err)
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
			return nil, sdk.Errorf(sdk.Invalid, "last_event_id_invalid", "Last-Event-ID is none that a stream of %d gave", len(streams)).
				WithHint("leave it out to begin again").WithDetail("header", "Last-Event-ID")
		}
		return after, nil
	}
	after := make([]uint64, len(streams))
	if whole {
		return after, nil
	}
	for i, of := range streams {
		err := of.host.Store.View(r.http.Context(), func(s core.Reader) error {
			head, err := journal.ReadHead(s, of.name)
			after[i] = head.Seq
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return after, nil
}

// follower passes the entries that readers of the journal find to one connection.
type follower struct {
	api     *API
	request *request
	source
	// after are the numbers of the last entries that were written. Only write changes them.
	after []uint64
	// events are pointers, since each follower has a buffer, and an entry is large.
	events chan *followed
	// lost is closed if the stream has to end for another tenant's.
	lost <-chan struct{}
	stop context.CancelFunc

	mu     sync.Mutex
	lagged bool
	err    error
}

// followed is an entry of one of the streams, or the message that older entries are gone.
type followed struct {
	stream int
	entry  journal.Entry
	// gone is set if entries no longer exist: the stream continues after head.
	gone bool
	head uint64
}

var errLagged = errors.New("the reader lags")

// read follows one stream until the context ends.
func (f *follower) read(ctx context.Context, stream int) {
	defer f.stop()
	next := f.after[stream]
	for ctx.Err() == nil {
		err := f.streams[stream].host.Feed.Follow(ctx, f.streams[stream].name, next, func(e journal.Entry) error {
			next = e.Seq
			if !f.has(&e) {
				return nil
			}
			return f.pass(ctx, &followed{stream: stream, entry: e})
		})
		if !journal.IsGone(err) {
			f.fail(err)
			return
		}
		head, _ := sdk.AsError(err).Details["head"].(uint64)
		next = head
		if err := f.pass(ctx, &followed{stream: stream, gone: true, head: head}); err != nil {
			f.fail(err)
			return
		}
	}
}

// fail records why a reader ended.
func (f *follower) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if errors.Is(err, errLagged) {
		f.lagged = true
	} else if f.err == nil && !errors.Is(err, context.Canceled) {
		f.err = err
	}
}

// pass puts an event into the buffer. If the buffer stays full, the reader lags.
func (f *follower) pass(ctx context.Context, e *followed) error {
	select {
	case f.events <- e:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	default:
	}
	wait := time.NewTimer(f.api.limits.StreamTime)
	defer wait.Stop()
	select {
	case f.events <- e:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-wait.C:
		return errLagged
	}
}

// write writes events until the readers, the connection or the server end.
func (f *follower) write(ctx context.Context, w http.ResponseWriter) {
	out := &eventWriter{w: w, control: http.NewResponseController(w), limit: 2 * f.api.limits.StreamTime}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	// The id comes first, without an event: if the connection breaks before the first event,
	// the reader continues from here.
	out.raw("retry: 1000\nid: " + eventID(f.after) + "\n\n")
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	again := time.NewTicker(authenticateAgain)
	defer again.Stop()
	for out.err == nil {
		select {
		case e := <-f.events:
			f.put(out, e)
		case progress := <-f.progress:
			out.event("", "job.progress", struct {
				JobID    string  `json:"job_id"`
				Progress float64 `json:"progress"`
			}{f.job, progress})
		case <-beat.C:
			out.raw(": \n\n")
		case <-again.C:
			if !f.api.stillKnown(f.request) {
				out.event("", "bye", struct{}{})
				return
			}
		case <-f.api.draining:
			out.event("", "bye", struct{}{})
			return
		case <-f.lost:
			out.event("", "bye", struct{}{})
			return
		case <-ctx.Done():
			f.last(out)
			return
		}
	}
}

// put writes an event.
func (f *follower) put(out *eventWriter, e *followed) {
	if e.gone {
		f.after[e.stream] = e.head
		out.event(eventID(f.after), "reset", struct {
			Stream string `json:"stream"`
			Head   uint64 `json:"head"`
		}{f.streams[e.stream].name, e.head})
		return
	}
	f.after[e.stream] = e.entry.Seq
	name := e.entry.Type
	if own := eventNames[name]; own != "" {
		name = own
	}
	out.event(eventID(f.after), name, struct {
		Stream  string          `json:"stream"`
		Seq     uint64          `json:"seq"`
		At      time.Time       `json:"at"`
		Subject string          `json:"subject,omitempty"`
		Status  string          `json:"status,omitempty"` // how a job ended
		Data    json.RawMessage `json:"data"`
	}{f.streams[e.stream].name, e.entry.Seq, e.entry.At, e.entry.Subject, endedAs(name, e.entry.Type), e.entry.Data})
}

// endedAs is how a job ended, according to the event of its end; "" for other events.
func endedAs(name, entryType string) string {
	if name != jobEnded {
		return ""
	}
	return entryType[strings.LastIndexByte(entryType, '.')+1:]
}

// last sends the reader the reason why the events end, unless the reader ended them.
func (f *follower) last(out *eventWriter) {
	f.mu.Lock()
	lagged, err := f.lagged, f.err
	f.mu.Unlock()
	switch {
	case lagged:
		out.event("", "lagged", struct {
			LastID string `json:"last_id"`
		}{eventID(f.after)})
	case err != nil:
		out.event("", "failed", struct {
			Code string `json:"code"`
		}{sdk.ReasonOf(err)})
	}
}

// eventWriter writes the lines of events, until a line can't be written.
type eventWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	limit   time.Duration
	err     error
}

// event writes an event. Without an id the reader keeps the previous one.
func (o *eventWriter) event(id, name string, data any) {
	var b bytes.Buffer
	if id != "" {
		b.WriteString("id: " + id + "\n")
	}
	b.WriteString("event: " + name + "\ndata: ")
	b.Write(core.MustJSON(data)) // on one line
	b.WriteString("\n\n")
	o.raw(b.String())
}

func (o *eventWriter) raw(text string) {
	if o.err != nil {
		return
	}
	_ = o.control.SetWriteDeadline(time.Now().Add(o.limit)) // a test's writer has none
	if _, o.err = o.w.Write([]byte(text)); o.err == nil {
		o.err = o.control.Flush()
	}
}
