package operation

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// A job belongs to a namespace and a user. For a caller that doesn't reach the namespace,
// or isn't the user, the job doesn't exist, and the answer is the same as for an id that no
// job has: see sees.

// jobScopes are the scopes, in addition to run, that let a caller look at the jobs that it
// asked for, such as judging an output or a dream pass. Each scope gives access only to its own
// kind of jobs: see mayDo.
func jobScopes() []core.Scope { return []core.Scope{core.ScopeEvaluate, core.ScopeMemoryWrite} }

// jobs are the operations on background work. A caller that may ask for work may look at
// its jobs.
func jobs() []Operation {
	return []Operation{
		define(Operation{
			Name: "job_list", listed: true, Method: "GET", Path: "/v1/jobs", Scope: core.ScopeRun, Or: jobScopes(), ReadOnly: true, Idempotent: true,
			Doc: "List jobs, the newest first.",
		}, ofJobs, jobList),
		define(Operation{
			Name: "job_get", Method: "GET", Path: "/v1/jobs/{id}", Scope: core.ScopeRun, Or: jobScopes(), ReadOnly: true, Idempotent: true,
			Doc: "Show a job: what it was asked to do, and its result.",
		}, ofJob(func(in *JobGet) (*string, string) { return &in.ID, in.UserID }), jobGet),
		define(Operation{
			Name: "job_enqueue", named: true, Method: "POST", Path: "/v1/jobs", Scope: core.ScopeOperate,
			Doc: "Queue maintenance of a namespace.",
		}, inNamespace(func(in *JobEnqueue) *string { return &in.Namespace }), jobEnqueue),
		define(Operation{
			Name: "job_cancel", Method: "POST", Path: "/v1/jobs/{id}/cancel", Scope: core.ScopeRun, Or: jobScopes(), Idempotent: true,
			Doc: "Cancel a waiting job, or ask a running job to stop.",
		}, ofJob(func(in *JobCancel) (*string, string) { return &in.ID, in.UserID }), jobCancel),
	}
}

// sees reports whether the caller may know of a job: it must reach the job's namespace, and
// the job must be its own job or a job without a user, unless the caller may operate the
// host. A caller that reaches a user's own namespace, users/ and the id, acts for that
// user.
func (c *Call) sees(userID, namespace string) bool {
	if !c.reaches(namespace) {
		return false
	}
	own := "users/" + userID
	return userID == job.SystemUser || userID == userOf(c.caller) || c.caller.Has(core.ScopeOperate) ||
		namespace == own || strings.HasPrefix(namespace, own+"/")
}

// mayDo reports whether the caller may ask for what a job does, so that a scope only gives
// access to jobs of its own kind. A caller that may operate the host may look at all jobs.
func (c *Call) mayDo(t job.Type, payload json.RawMessage) bool {
	if c.caller.Has(core.ScopeOperate) {
		return true
	}
	var asked work
	_ = json.Unmarshal(payload, &asked) // the request may have been purged
	if o, err := Find(asked.Operation); err == nil {
		return o.May(c.caller)
	}
	switch t { // the host's own work
	case job.Dream:
		return c.caller.Has(core.ScopeMemoryWrite)
	case job.Reflection:
		return c.caller.Has(core.ScopeMemoryWrite) || c.caller.Has(core.ScopeRun)
	}
	return c.caller.Has(core.ScopeRun)
}

// userOf is the user of a caller's jobs: the subject, or a digest of a subject that can't
// be a user's name.
func userOf(c core.Caller) string {
	switch {
	case c.Subject == "":
		return job.SystemUser
	case core.ValidID(c.Subject) && core.CheckNamespace(c.Subject) == nil:
		return c.Subject
	}
	sum := sha256.Sum256([]byte(c.Subject))
	return "subject-" + hex.EncodeToString(sum[:16])
}

// ofJob is the place of a request that names a job by its id or, for a caller that reaches
// every namespace, the beginning of its id: the job's namespace. If the request names a
// user, it must be the job's user.
func ofJob[In any](id func(*In) (id *string, userID string)) func(context.Context, *Call, *In) (place, error) {
	return func(ctx context.Context, c *Call, in *In) (place, error) {
		id, userID := id(in)
		absent := absence(job.Absent, *id)
		if c.reaches("**") {
			whole, _, err := c.Host.Jobs.Locate(ctx, *id)
			if err != nil {
				return place{}, err
			}
			*id = whole
		}
		j, err := c.Host.Jobs.Get(ctx, *id)
		switch {
		case sdk.ReasonOf(err) == job.NotFound:
			return place{}, absent()
		case err != nil:
			return place{}, err
		case !c.sees(j.UserID, j.Namespace), !c.mayDo(j.Type, j.Payload), userID != "" && userID != j.UserID:
			return place{}, absent()
		}
		return place{namespaces: []string{j.Namespace}, absent: absent}, nil
	}
}

// JobList selects jobs.
type JobList struct {
	// Namespace is where to look; "" is every namespace that the caller reaches. Subtree
	// includes the namespaces below.
	Namespace string `json:"namespace,omitempty"`
	Subtree   bool   `json:"subtree,omitempty"`
	// UserID, Type and Status are a user's id, one of job.Types and one of job.Statuses; ""
	// is any.
	UserID string     `json:"user_id,omitempty"`
	Type   job.Type   `json:"type,omitempty"`
	Status job.Status `json:"status,omitempty"`
	// Since leaves out jobs that were queued before; the zero time selects all.
	Since time.Time `json:"since,omitzero"`
	Paging
}

// JobPage is a page of jobs, without their payloads and results.
type JobPage struct {
	Page[job.Job]
	// NoWorker is true if no program works on jobs: they wait until a server, or another
	// program that does, is started.
	NoWorker bool `json:"no_worker,omitempty"`
}

// ofJobs is the place of a list: the namespace that it names, or the host, filtered by what
// the caller may see.
func ofJobs(ctx context.Context, c *Call, in *JobList) (place, error) {
	if in.Namespace == "" {
		return place{}, nil
	}
	return inTree(func(in *JobList) (*string, bool) { return &in.Namespace, in.Subtree })(ctx, c, in)
}

func (in *JobList) check() error {
	return core.JoinErrors(oneOf("type", in.Type, job.Types()), oneOf("status", in.Status, job.Statuses()), checkNamespace(in.Namespace), in.Paging.check())
}

func jobList(ctx context.Context, c *Call, in *JobList) (*JobPage, error) {
	filter := *in
	filter.Paging = Paging{}
	after, limit, err := in.open(ctx, c, filter)
	if err != nil {
		return nil, err
	}
	f := job.ListFilter{
		UserID: in.UserID, Type: in.Type, Status: in.Status, Since: in.Since, Limit: limit, After: after, May: func(userID, namespace string) bool {
			return within(namespace, in.Namespace, in.Subtree) && c.sees(userID, namespace)
		},
	}
	if !c.caller.Has(core.ScopeOperate) {
		f.MayDo = c.mayDo
	}
	found, next, err := c.Host.Jobs.List(ctx, f)
	if err != nil {
		return nil, err
	}
	page, err := pageOf(ctx, c, found, next, filter)
	if err != nil {
		return nil, err
	}
	working, err := c.Host.Jobs.Working(ctx)
	return &JobPage{Page: *page, NoWorker: !working}, err
}

// oneOf refuses a word that isn't in a list; "" selects any.
func oneOf[T ~string](field string, value T, all []T) error {
	if value == "" || slices.Contains(all, value) {
		return nil
	}
	names := make([]string, len(all))
	for i, v := range all {
		names[i] = string(v)
	}
	return sdk.Errorf(sdk.Invalid, field+"_invalid", "%s %q is not one of %s", field, core.Cut(string(value)), strings.Join(names, ", ")).
		WithHint("%s", cmp.Or(meantStatus(string(value), names), sdk.DidYouMean(string(value), names, ""))).WithDetail("field", field)
}

// meantStatus is the hint for the words of other programs for how a run or a job is going; "" if none
// of them is meant.
func meantStatus(word string, names []string) string {
	for _, same := range [][]string{
		{"passed", "completed", "succeeded", "success", "ok", "done", "finished", "complete"},
		{"error", "failed", "failure", "errored", "crashed"},
		{"running", "active", "started", "in_progress", "in-progress"},
		{"queued", "pending", "waiting", "scheduled"},
		{"cancelled", "canceled", "stopped", "aborted", "killed"},
	} {
		for _, name := range same {
			if slices.Contains(same, word) && slices.Contains(names, name) {
				return fmt.Sprintf("did you mean %q?", name)
			}
		}
	}
	return ""
}

// within reports whether a list includes a namespace; if in is "", it includes every
// namespace.
func within(namespace, in string, subtree bool) bool {
	return in == "" || namespace == in || subtree && strings.HasPrefix(namespace, in+"/")
}

// JobGet names a job.
type JobGet struct {
	ID string `json:"id"`
	// UserID, if set, must be the job's user; for another user there is no such job.
	UserID string `json:"user_id,omitempty"`
}

func jobGet(ctx context.Context, c *Call, in *JobGet) (*job.Job, error) {
	return c.Host.Jobs.Get(ctx, in.ID)
}

// JobEnqueue asks for maintenance.
type JobEnqueue struct {
	// Type is revalidate, which lets the gate decide on all memories that wait for it;
	// reembed, which makes missing vectors; or compact, which prunes the store and frees its
	// space.
	Type job.Type `json:"type"`
	// Namespace is what it works on; "" is the configured one. A compact works on the whole
	// store.
	Namespace string `json:"namespace,omitempty"`
}

// JobQueued is the job of a request.
type JobQueued struct {
	JobID  string     `json:"job_id"`
	Status job.Status `json:"status"`
	// RunID is the run that it works on, if there is one. A new run exists once the job runs.
	RunID    string    `json:"run_id,omitempty"`
	QueuedAt time.Time `json:"queued_at"`
	// Already is whether the job existed before: there is one job of each user, type and
	// namespace at a time.
	Already bool `json:"already,omitempty"`
}

// MaintenanceTypes are the types that can be requested directly. Other jobs are made by the
// operations that need them.
func MaintenanceTypes() []job.Type { return []job.Type{job.Revalidate, job.Reembed, job.Compact} }

func (in *JobEnqueue) check() error {
	err := checkNamespace(in.Namespace)
	if !slices.Contains(MaintenanceTypes(), in.Type) {
		err = core.JoinErrors(sdk.Errorf(sdk.Invalid, "type_invalid", "type %q is not one of revalidate, reembed, compact", core.Cut(string(in.Type))).
			WithHint("other jobs are made by the operations that need them").WithDetail("field", "type"), err)
	}
	return err
}

func jobEnqueue(ctx context.Context, c *Call, in *JobEnqueue) (*JobQueued, error) {
	var name string
	var does any
	switch in.Type {
	case job.Revalidate:
		name, does = "memory_sweep", &MemorySweep{Namespace: in.Namespace}
	case job.Reembed:
		name, does = "memory_reembed", &MemoryReembed{Namespace: in.Namespace}
	case job.Compact:
		name, does = "store_prune", &StorePrune{}
	}
	o, err := Find(name)
	if err != nil {
		return nil, err
	}
	if err := c.check(ctx, &o, does); err != nil { // the operation that asks for it directly
		return nil, err
	}
	return c.enqueue(ctx, in.Type, in.Namespace, work{Operation: name, Request: jsontext.MustEncode(does)})
}

// enqueue makes a job of the caller for some work. A workflow's job is never shared with
// another request.
func (c *Call) enqueue(ctx context.Context, t job.Type, namespace string, asked work) (*JobQueued, error) {
	q := &job.Request{UserID: userOf(c.caller), Namespace: namespace, Type: t, Payload: jsontext.MustEncode(asked), IdempotencyKey: c.named("", 0)}
	if !t.Queued() && q.IdempotencyKey == "" {
		q.IdempotencyKey = c.Host.Config.IDs.NewID()
	}
	made, err := c.Host.Jobs.Enqueue(ctx, q)
	if err != nil {
		return nil, err
	}
	if !made.Made && made.IdempotencyKey == q.IdempotencyKey && q.IdempotencyKey != "" { // this call made it, before a crash
		made.Made = true
		first, err := c.Host.Jobs.Get(ctx, made.ID)
		if err != nil {
			return nil, err
		}
		_ = json.Unmarshal(first.Payload, &asked) // unless it was purged
	}
	return &JobQueued{JobID: made.ID, Status: made.Status, RunID: asked.RunID, QueuedAt: made.QueuedAt, Already: !made.Made}, nil
}

// JobCancel names a job.
type JobCancel struct {
	ID string `json:"id"`
	// UserID, if set, must be the job's user; for another user there is no such job.
	UserID string `json:"user_id,omitempty"`
}

// JobCancelled is the outcome of a request to cancel.
type JobCancelled struct {
	// Job is the job after the request. A running job is still running, and stops soon.
	job.Job
	// Cancelled is whether the request changed anything: a job that has ended doesn't change.
	Cancelled bool `json:"cancelled"`
}

func jobCancel(ctx context.Context, c *Call, in *JobCancel) (*JobCancelled, error) {
	done, err := c.Host.Jobs.Cancel(ctx, in.ID, "")
	if err != nil {
		return nil, err
	}
	return &JobCancelled{done.Job, done.Changed}, nil
}

// AsJob returns the form of the operation for callers that don't wait for a model or a
// whole store: it checks the request, queues a job that does it, and answers with a
// [JobQueued] at once. The second result is false for an operation that is always done
// within its request.
func (o *Operation) AsJob() (Operation, bool) {
	if o.Job == "" {
		return *o, false
	}
	q := *o
	q.Long, q.ReadOnly, q.Idempotent, q.named, q.out = false, false, false, true, reflect.TypeFor[JobQueued]()
	q.do = func(ctx context.Context, c *Call, in any) (any, error) { return c.queue(ctx, o, in) }
	return q, true
}

// modelled is a request that takes long only if it asks a model.
type modelled interface{ asksModel(c *Call) bool }

// mayTakeLong reports whether a job should do an operation, so that its caller needn't
// wait.
func (c *Call) mayTakeLong(o *Operation, in any) bool {
	if r, is := in.(modelled); is && !r.asksModel(c) {
		return false
	}
	return o.Long && o.Job != ""
}

// work is the payload of a job that does an operation.
type work struct {
	Operation string          `json:"operation"`
	Request   json.RawMessage `json:"request,omitempty"`
	// RunID is the run that the operation starts or continues.
	RunID string `json:"run_id,omitempty"`
	// NextEnd is the epoch with which a resumed run will end next: see
	// [run.Repository.NextEnd]. 0 means unknown.
	NextEnd int `json:"next_end,omitempty"`
}

// queue makes a job of an operation.
func (c *Call) queue(ctx context.Context, o *Operation, in any) (any, error) {
	at, err := o.where(ctx, c, in)
	if err != nil {
		return nil, err
	}
	namespace := config.DefaultNamespace // for work on the whole host
	if len(at.namespaces) > 0 && core.CheckNamespace(at.namespaces[0]) == nil {
		namespace = at.namespaces[0]
	}
	asked := work{Operation: o.Name, Request: jsontext.MustEncode(in)}
	switch in := in.(type) {
	case *RunStart:
		asked.RunID = c.Host.Config.IDs.NewID()
	case *RunResume:
		asked.RunID = in.ID
		if asked.NextEnd, err = c.Host.Runs.NextEnd(ctx, in.ID); err != nil {
			return nil, err
		}
	}
	queued, err := c.enqueue(ctx, o.Job, namespace, asked)
	if err != nil {
		return nil, err // not an interface that holds nil
	}
	return queued, nil
}

// read is the operation and the request of a job.
func (w *work) read() (Operation, any, error) {
	o, err := Find(w.Operation)
	if err != nil {
		return o, nil, err
	}
	in := reflect.New(o.in).Interface()
	if err := json.Unmarshal(w.Request, in); err != nil {
		return o, nil, sdk.Errorf(sdk.Incompatible, "job_payload_invalid", "the job's request of %s can't be read: %w", o.Name, err).
			WithHint("ask for it again: another version queued it")
	}
	return o, in, nil
}
