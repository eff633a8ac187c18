package operation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/config"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/sdk"
)

// A job is in a namespace, and a user's. To a caller who doesn't reach the namespace, or
// whose it isn't, it isn't there, with the same words as one that never was: see sees.

// jobScopes are the scopes besides run that let a caller look at the jobs that it asked for: to
// have outputs judged, or memories tidied.
func jobScopes() []core.Scope { return []core.Scope{core.ScopeEvaluate, core.ScopeMemoryWrite} }

// jobs are the operations on background work. Who may ask for it may look at it.
func jobs() []Operation {
	return []Operation{
		define(Operation{
			Name: "job_list", Method: "GET", Path: "/v1/jobs", Scope: core.ScopeRun, Or: jobScopes(), ReadOnly: true, Idempotent: true,
			Doc: "List jobs, the newest first.",
		}, ofJobs, jobList),
		define(Operation{
			Name: "job_get", Method: "GET", Path: "/v1/jobs/{id}", Scope: core.ScopeRun, Or: jobScopes(), ReadOnly: true, Idempotent: true,
			Doc: "Show a job with what it was asked to do and what came of it.",
		}, ofJob(func(in *JobGet) (*string, string) { return &in.ID, in.UserID }), jobGet),
		define(Operation{
			Name: "job_enqueue", Method: "POST", Path: "/v1/jobs", Scope: core.ScopeOperate,
			Doc: "Queue maintenance of a namespace.",
		}, inNamespace(func(in *JobEnqueue) *string { return &in.Namespace }), jobEnqueue),
		define(Operation{
			Name: "job_cancel", Method: "POST", Path: "/v1/jobs/{id}/cancel", Scope: core.ScopeRun, Or: jobScopes(), Idempotent: true,
			Doc: "End a job that waits, or ask one that runs to stop.",
		}, ofJob(func(in *JobCancel) (*string, string) { return &in.ID, in.UserID }), jobCancel),
	}
}

// sees reports whether the caller may know of a job: who reaches its namespace, if it is
// their own or nobody's, or they may operate the host. Who reaches a user's own namespace,
// users/ and the id, acts for that user.
func (c *Call) sees(userID, namespace string) bool {
	if !c.reaches(namespace) {
		return false
	}
	own := "users/" + userID
	return userID == job.SystemUser || userID == userOf(c.caller) || c.caller.Has(core.ScopeOperate) ||
		namespace == own || strings.HasPrefix(namespace, own+"/")
}

// userOf is whose the jobs of a caller are: the subject, or a digest of one that can't name
// a user.
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

// ofJob is where a request is done that names a job, by its id or, for a caller that
// reaches every namespace, its beginning: in the job's namespace. A user that the request
// names must be the job's.
func ofJob[In any](id func(*In) (id *string, userID string)) func(context.Context, *Call, *In) (place, error) {
	return func(ctx context.Context, c *Call, in *In) (place, error) {
		id, userID := id(in)
		absent := job.Absent(*id)
		if c.reaches("**") {
			whole, _, err := c.Host.Jobs.Locate(ctx, *id)
			if err != nil {
				return place{}, err
			}
			*id = whole
		}
		j, err := c.Host.Jobs.Peek(ctx, *id)
		switch {
		case sdk.ReasonOf(err) == job.NotFound:
			return place{}, absent
		case err != nil:
			return place{}, err
		case !c.sees(j.UserID, j.Namespace), userID != "" && userID != j.UserID:
			return place{}, absent
		}
		return place{namespaces: []string{j.Namespace}, absent: absent}, nil
	}
}

// JobList selects jobs.
type JobList struct {
	// Namespace is where to look; "" is every namespace that the caller reaches. Subtree
	// takes the ones below too.
	Namespace string `json:"namespace,omitempty"`
	Subtree   bool   `json:"subtree,omitempty"`
	// UserID, Type and Status are a user's id, one of job.Types and one of job.Statuses; ""
	// is any.
	UserID string     `json:"user_id,omitempty"`
	Type   job.Type   `json:"type,omitempty"`
	Status job.Status `json:"status,omitempty"`
	Paging
}

// JobPage is a page of jobs, without what they were asked to do and came to.
type JobPage struct {
	Page[job.Job]
	// NoWorker is whether nobody works on jobs: they wait until a server, or somebody else
	// who does, is started.
	NoWorker bool `json:"no_worker,omitempty"`
}

// ofJobs is where a list looks: in the namespace that it names, or, filtered by what the
// caller may know of, on the host.
func ofJobs(ctx context.Context, c *Call, in *JobList) (place, error) {
	if in.Namespace == "" {
		return place{}, nil
	}
	return inTree(func(in *JobList) (*string, bool) { return &in.Namespace, in.Subtree })(ctx, c, in)
}

func jobList(ctx context.Context, c *Call, in *JobList) (*JobPage, error) {
	if err := core.JoinErrors(oneOf("type", in.Type, job.Types()), oneOf("status", in.Status, job.Statuses())); err != nil {
		return nil, err
	}
	if in.Namespace != "" {
		if err := core.CheckNamespace(in.Namespace); err != nil {
			return nil, err
		}
	}
	filter := *in
	filter.Paging = Paging{}
	after, limit, err := in.open(ctx, c, filter)
	if err != nil {
		return nil, err
	}
	found, next, err := c.Host.Jobs.List(ctx, job.ListFilter{
		UserID: in.UserID, Type: in.Type, Status: in.Status, Limit: limit, After: after, May: func(userID, namespace string) bool {
			return within(namespace, in.Namespace, in.Subtree) && c.sees(userID, namespace)
		},
	})
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

// oneOf refuses a word that is none of a list; "" is any.
func oneOf[T ~string](field string, value T, all []T) error {
	if value == "" || slices.Contains(all, value) {
		return nil
	}
	names := make([]string, len(all))
	for i, v := range all {
		names[i] = string(v)
	}
	return sdk.Errorf(sdk.Invalid, field+"_invalid", "%s %q is not one of %s", field, core.Cut(string(value)), strings.Join(names, ", ")).
		WithHint("%s", sdk.DidYouMean(string(value), names, "")).WithDetail("field", field)
}

// within reports whether a namespace is one that a list looks in; "" is every one.
func within(namespace, in string, subtree bool) bool {
	return in == "" || namespace == in || subtree && strings.HasPrefix(namespace, in+"/")
}

// JobGet names a job.
type JobGet struct {
	ID string `json:"id"`
	// UserID, where it is given, must be the job's, else there is no such job.
	UserID string `json:"user_id,omitempty"`
}

func jobGet(ctx context.Context, c *Call, in *JobGet) (*job.Job, error) {
	return c.Host.Jobs.Get(ctx, in.ID)
}

// JobEnqueue asks for maintenance.
type JobEnqueue struct {
	// Type is revalidate, which has the gate decide on all memories that wait for it;
	// reembed, which makes the vectors that are missing; or compact, which prunes the store
	// and gives its room back.
	Type job.Type `json:"type"`
	// Namespace is what it works on; "" is the configured one. A compact is of the whole
	// store.
	Namespace string `json:"namespace,omitempty"`
}

// JobQueued is the job that a request came to.
type JobQueued struct {
	JobID  string     `json:"job_id"`
	Status job.Status `json:"status"`
	// RunID is the run that it works on, where it works on one. A run that begins is there
	// once the job runs.
	RunID    string    `json:"run_id,omitempty"`
	QueuedAt time.Time `json:"queued_at"`
	// Already is whether the job was there: one of a user, type and namespace at a time.
	Already bool `json:"already,omitempty"`
}

// MaintenanceTypes are the jobs that are asked for by their type. Others are made by the
// operations that need them.
func MaintenanceTypes() []job.Type { return []job.Type{job.Revalidate, job.Reembed, job.Compact} }

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
	default:
		return nil, sdk.Errorf(sdk.Invalid, "type_invalid", "type %q is not one of revalidate, reembed, compact", core.Cut(string(in.Type))).
			WithHint("other jobs are made by the operations that need them").WithDetail("field", "type")
	}
	o, err := Find(name)
	if err != nil {
		return nil, err
	}
	if err := c.check(ctx, &o, does); err != nil { // what it may be asked for by its own name
		return nil, err
	}
	return c.enqueue(ctx, in.Type, in.Namespace, work{Operation: name, Request: core.MustJSON(does)})
}

// enqueue makes the caller's job of some work. No other request comes to a workflow's job.
func (c *Call) enqueue(ctx context.Context, t job.Type, namespace string, asked work) (*JobQueued, error) {
	q := &job.Request{UserID: userOf(c.caller), Namespace: namespace, Type: t, Payload: core.MustJSON(asked)}
	if !t.Queued() {
		q.IdempotencyKey = c.Host.NewID()
	}
	made, err := c.Host.Jobs.Enqueue(ctx, q)
	if err != nil {
		return nil, err
	}
	return &JobQueued{JobID: made.ID, Status: made.Status, RunID: asked.RunID, QueuedAt: made.QueuedAt, Already: !made.Made}, nil
}

// JobCancel names a job.
type JobCancel struct {
	ID string `json:"id"`
	// UserID, where it is given, must be the job's, else there is no such job.
	UserID string `json:"user_id,omitempty"`
}

// JobCancelled is what a request to cancel came to.
type JobCancelled struct {
	// Job is as it is now. One that runs is still running, and stops soon.
	job.Job
	// Cancelled is whether the request changed anything: a job that has ended stays as it is.
	Cancelled bool `json:"cancelled"`
}

func jobCancel(ctx context.Context, c *Call, in *JobCancel) (*JobCancelled, error) {
	done, err := c.Host.Jobs.Cancel(ctx, in.ID, "")
	if err != nil {
		return nil, err
	}
	return &JobCancelled{done.Job, done.Changed}, nil
}

// AsJob is the operation as it is offered where nobody waits for a model or a whole store:
// it checks the request, queues a job that does it, and answers with a [JobQueued] at once.
// false is for one that is done within its request.
func (o *Operation) AsJob() (Operation, bool) {
	if o.Job == "" {
		return *o, false
	}
	q := *o
	q.Long, q.ReadOnly, q.Idempotent, q.out = false, false, false, reflect.TypeFor[JobQueued]()
	q.do = func(ctx context.Context, c *Call, in any) (any, error) { return c.queue(ctx, o, in) }
	return q, true
}

// modelled is a request that takes long only if it asks a model.
type modelled interface{ asksModel(c *Call) bool }

// mayTakeLong reports whether a job should do an operation, rather than its caller wait.
func (c *Call) mayTakeLong(o *Operation, in any) bool {
	if r, is := in.(modelled); is && !r.asksModel(c) {
		return false
	}
	return o.Long && o.Job != ""
}

// checked is a request in which something can be wrong that is known before it is done.
type checked interface{ check() error }

// work is the payload of a job that does an operation.
type work struct {
	Operation string          `json:"operation"`
	Request   json.RawMessage `json:"request,omitempty"`
	// RunID is the run that the operation starts or continues.
	RunID string `json:"run_id,omitempty"`
}

// queue makes a job of an operation.
func (c *Call) queue(ctx context.Context, o *Operation, in any) (any, error) {
	if r, is := in.(checked); is {
		if err := r.check(); err != nil {
			return nil, err
		}
	}
	at, err := o.where(ctx, c, in)
	if err != nil {
		return nil, err
	}
	namespace := config.DefaultNamespace // of what is done on the whole host
	if len(at.namespaces) > 0 && core.CheckNamespace(at.namespaces[0]) == nil {
		namespace = at.namespaces[0]
	}
	asked := work{Operation: o.Name, Request: core.MustJSON(in)}
	switch in := in.(type) {
	case *RunStart:
		asked.RunID = c.Host.NewID()
	case *RunResume:
		asked.RunID = in.ID
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
