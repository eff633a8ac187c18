package operation

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/reflection"
	"github.com/reflectory/reflectory/sdk"
)

// reflections are the operations on reflections in the background. An agent calls them
// between two steps of its own work, so each answers at once, and an obstacle, such as a
// job that already runs, is an answer and not an error.
func reflections() []Operation {
	return []Operation{
		define(Operation{
			Name: "reflection_enqueue", named: true, Method: "POST", Path: "/v1/reflect", Scope: core.ScopeMemoryWrite,
			Doc: "Derive insights from observations, in the background.",
		}, ofReflection, reflectionEnqueue),
		define(Operation{
			Name: "reflection_status", Method: "GET", Path: "/v1/reflect/{job_id}", Scope: core.ScopeMemoryRead, ReadOnly: true, Idempotent: true,
			Doc: "Show the progress of a reflection, or its result.",
		}, onHost[ReflectionStatus], reflectionStatus),
		define(Operation{
			Name: "reflection_cancel", Method: "POST", Path: "/v1/reflect/{job_id}/cancel", Scope: core.ScopeMemoryWrite, Idempotent: true,
			Doc: "Cancel a waiting reflection, or ask a running one to stop.",
		}, onHost[ReflectionCancel], reflectionCancel),
	}
}

// reflectedIn is the namespace of a user's reflections, unless another is given.
func reflectedIn(userID, namespace string) string {
	if namespace == "" && userID != "" {
		return reflection.UserPrefix + userID
	}
	return namespace
}

// ReflectionEnqueue asks for a reflection.
type ReflectionEnqueue struct {
	// UserID is the user of the reflection: the namespace is then users/ and this id, if it has
	// memories and Namespace names no other. "" means the user of the namespace, if it has one.
	UserID string `json:"user_id,omitempty"`
	// Namespace is the namespace to reflect on; "" is the user's namespace or, without memories
	// there, the namespace of requests that name none.
	Namespace string `json:"namespace,omitempty"`
	// Focus is what to reflect on there, up to 500 characters; "" is anything.
	Focus string `json:"focus,omitempty"`
	// MaxInsights is how many insights and procedures are written at most, from 1 to 50; 0
	// is 5.
	MaxInsights int `json:"max_insights,omitempty"`
	// Force reflects even if a reflection isn't due; a user may force 3 reflections in an
	// hour.
	Force bool `json:"force,omitempty"`
	// DryRun makes insights and writes nothing.
	DryRun bool `json:"dry_run,omitempty"`

	// chosen is whether the host chose the namespace.
	chosen bool
}

// The statuses of an answer that aren't statuses of a job.
const (
	ReflectionRunning      = "already_running"
	ReflectionNotTriggered = "not_triggered"
	ReflectionRateLimited  = "rate_limited"
	ReflectionNotFound     = "not_found"
)

// ReflectionEnqueued is the outcome of a request to reflect.
type ReflectionEnqueued struct {
	// Status is queued, already_running, not_triggered or rate_limited.
	Status string `json:"status"`
	// JobID is the new job, or the job that the user already has.
	JobID    string     `json:"job_id,omitempty"`
	QueuedAt *time.Time `json:"queued_at,omitempty"`
	// ETASeconds is about how long the reflection takes.
	ETASeconds *int `json:"eta_seconds,omitempty"`
	// Reason is why nothing was due.
	Reason string `json:"reason,omitempty"`
	// RetryAfterSeconds is how many seconds later the user may force a reflection again.
	RetryAfterSeconds int `json:"retry_after_seconds,omitempty"`
}

// ofReflection is where a reflection is done.
func ofReflection(ctx context.Context, c *Call, in *ReflectionEnqueue) (place, error) {
	if in.Namespace == "" {
		var err error
		if in.Namespace, err = observedIn(ctx, c, in.UserID); err != nil {
			return place{}, err
		}
		in.chosen = true
	}
	return place{namespaces: []string{in.Namespace}}, nil
}

// observedIn is where memories about a user are: in the user's own namespace, if it has any, otherwise
// where the caller observes without naming a namespace.
func observedIn(ctx context.Context, c *Call, userID string) (string, error) {
	own := reflectedIn(userID, "")
	if own == "" || !c.reaches(own) {
		return home(c), nil
	}
	page, err := c.Host.Memories.List(ctx, memory.ListFilter{Namespace: own, Limit: 1})
	if err != nil || len(page.Memories) > 0 {
		return own, err
	}
	return home(c), nil
}

// checkUser refuses an id that can't name a user; "" names nobody.
func checkUser(userID string) error {
	if userID == "" || core.ValidID(userID) && core.CheckNamespace(userID) == nil {
		return nil
	}
	return sdk.Errorf(sdk.Invalid, "user_id_invalid", "user_id %q can't name a user", core.Cut(userID)).
		WithHint("write 1 to %d of A-Z a-z 0-9 _ : . @ -", core.MaxIDBytes).WithDetail("field", "user_id")
}

// check reports what is wrong with a request in itself.
func (in *ReflectionEnqueue) check() error {
	problems := []error{checkUser(in.UserID), checkNamespace(in.Namespace)}
	add := func(field, format string, args ...any) {
		problems = append(problems, sdk.Errorf(sdk.Invalid, "reflection_invalid", field+" "+format, args...).WithDetail("field", field))
	}
	if n := utf8.RuneCountInString(in.Focus); n > reflection.MaxFocusChars || !utf8.ValidString(in.Focus) {
		add("focus", "has %d characters (limit %d), or isn't UTF-8", n, reflection.MaxFocusChars)
	}
	if in.MaxInsights < 0 || in.MaxInsights > reflection.MaxInsights {
		add("max_insights", "is %d, not from 1 to %d", in.MaxInsights, reflection.MaxInsights)
	}
	return core.JoinErrors(problems...)
}

func reflectionEnqueue(ctx context.Context, c *Call, in *ReflectionEnqueue) (*ReflectionEnqueued, error) {
	userID, about := cmp.Or(in.UserID, host.ReflectionUser(in.Namespace)), ""
	if in.chosen && !c.sees(userID, in.Namespace) { // the job must not take another user's place in the queue
		userID, about = userOf(c.caller), in.UserID
	}
	if !c.sees(userID, in.Namespace) {
		return nil, sdk.Errorf(sdk.Denied, "user_denied", "the caller may not have reflections of user %s made there", userID).
			WithHint("leave the user out, or reflect on the user's own namespace").WithDetail("user_id", userID)
	}
	answer, err := c.Host.Reflections.Queue(ctx, userID, reflection.Request{
		Namespace: in.Namespace, Focus: in.Focus, MaxInsights: in.MaxInsights, Force: in.Force, DryRun: in.DryRun, About: about,
	})
	switch {
	case sdk.ReasonOf(err) == job.RateLimited:
		seconds, _ := sdk.AsError(err).Details["retry_after_seconds"].(int)
		return &ReflectionEnqueued{Status: ReflectionRateLimited, RetryAfterSeconds: seconds}, nil
	case err != nil:
		return nil, err
	case answer.Active != nil:
		return &ReflectionEnqueued{Status: ReflectionRunning, JobID: answer.Active.ID}, nil
	case answer.Job == nil:
		return &ReflectionEnqueued{Status: ReflectionNotTriggered, Reason: answer.Reason}, nil
	}
	eta := int(answer.ETA.Seconds())
	return &ReflectionEnqueued{Status: string(answer.Job.Status), JobID: answer.Job.ID, QueuedAt: &answer.Job.QueuedAt, ETASeconds: &eta}, nil
}

// ReflectionStatus names a reflection.
type ReflectionStatus struct {
	JobID string `json:"job_id"`
	// UserID, if set, must be the job's user; for another user there is no such job.
	UserID string `json:"user_id,omitempty"`
	// PageToken continues lists of more than 20: it is the answer's next_page_token.
	PageToken string `json:"page_token,omitempty"`
}

// ReflectionProgress is the progress of a reflection, or its result. The status determines
// which fields are set.
type ReflectionProgress struct {
	// Status is the job's status, or not_found, with no other fields.
	Status string `json:"status"`
	JobID  string `json:"job_id,omitempty"`
	// QueuedAt, StartedAt, which is null while the reflection is queued, and Progress, from
	// 0 to 1, are set while the reflection waits or runs.
	QueuedAt  *time.Time      `json:"queued_at,omitempty"`
	StartedAt json.RawMessage `json:"started_at,omitempty"`
	Progress  *float64        `json:"progress,omitempty"`
	// CompletedAt is set if it completed or was cancelled, Reason if it was cancelled or
	// failed.
	CompletedAt *time.Time `json:"completed_at,omitempty"`
	Reason      string     `json:"reason,omitempty"`
	// The other fields are set if it completed, and have what it made. Each list has up to
	// 20 items.
	InsightsCreated   *int                   `json:"insights_created,omitempty"`
	ProceduresCreated *int                   `json:"procedures_created,omitempty"`
	Insights          []reflection.Insight   `json:"insights,omitzero"`
	Procedures        []reflection.Procedure `json:"procedures,omitzero"`
	MemoriesAnalyzed  *int                   `json:"memories_analyzed,omitempty"`
	// Skipped is why there was nothing to do; BudgetReached and DryRun come from the result.
	Skipped       string `json:"skipped,omitempty"`
	BudgetReached bool   `json:"budget_reached,omitempty"`
	DryRun        bool   `json:"dry_run,omitempty"`
	// NextPageToken continues the lists.
	NextPageToken string `json:"next_page_token,omitempty"`
}

// reflectionPage is how many insights and procedures an answer has of each.
const reflectionPage = 20

// findReflection finds a reflection that the caller may see, without its result; nil if there is
// none. It returns nil for another user's reflection, for a namespace that the caller doesn't
// reach, and for a job that isn't a reflection, as for an unknown id.
func (c *Call) findReflection(ctx context.Context, jobID, userID string) (*job.Job, error) {
	if c.reaches("**") {
		whole, _, err := c.Host.Jobs.Locate(ctx, jobID)
		if code := sdk.CodeOf(err); err != nil && code != sdk.NotFound && code != sdk.Invalid {
			return nil, err
		}
		jobID = cmp.Or(whole, jobID)
	}
	j, err := c.Host.Jobs.Peek(ctx, jobID)
	switch {
	case sdk.ReasonOf(err) == job.NotFound:
		return nil, nil
	case err != nil:
		return nil, err
	case j.Type != job.Reflection, userID != "" && userID != j.UserID && !isAbout(ctx, c, j, userID), !c.reaches(j.Namespace), c.policyAllows(ctx, c.operation, j.Namespace) != nil:
		return nil, nil
	}
	return j, nil
}

// isAbout reports whether a job is the caller's own reflection on what it observed about a user.
func isAbout(ctx context.Context, c *Call, j *job.Job, userID string) bool {
	if j.UserID != userOf(c.caller) {
		return false
	}
	whole, err := c.Host.Jobs.Get(ctx, j.ID)
	var asked reflection.Request
	return err == nil && json.Unmarshal(whole.Payload, &asked) == nil && asked.About == userID
}

func reflectionStatus(ctx context.Context, c *Call, in *ReflectionStatus) (*ReflectionProgress, error) {
	j, err := c.findReflection(ctx, in.JobID, in.UserID)
	if err != nil {
		return nil, err
	}
	if j == nil {
		return &ReflectionProgress{Status: ReflectionNotFound}, nil
	}
	p := &ReflectionProgress{Status: string(j.Status), JobID: j.ID}
	switch j.Status {
	case job.StatusQueued, job.StatusRunning:
		p.QueuedAt, p.StartedAt, p.Progress = &j.QueuedAt, jsontext.MustEncode(j.StartedAt), &j.Progress
	case job.StatusCancelled:
		p.CompletedAt, p.Reason = j.CompletedAt, j.Reason
	case job.StatusFailed:
		p.Reason = j.Reason
	default:
		if j, err = c.Host.Jobs.Get(ctx, j.ID); err != nil {
			return nil, err
		}
		p.CompletedAt = j.CompletedAt
		if err := addMade(ctx, c, p, j, in); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// addMade adds what a completed reflection made, from the position in a page's token.
func addMade(ctx context.Context, c *Call, p *ReflectionProgress, j *job.Job, in *ReflectionStatus) error {
	var r reflection.Result
	if bytes.HasPrefix(j.Result, []byte("{")) { // otherwise it was purged
		if err := json.Unmarshal(j.Result, &r); err != nil {
			return sdk.Errorf(sdk.Internal, "result_unreadable", "the result of job %s can't be read: %w", j.ID, err)
		}
	}
	filter := []string{j.ID}
	at, _, err := Paging{PageToken: in.PageToken}.open(ctx, c, filter)
	if err != nil {
		return err
	}
	from := 0
	if at != "" {
		if from, err = strconv.Atoi(at); err != nil {
			return badToken()
		}
	}
	p.InsightsCreated, p.ProceduresCreated, p.MemoriesAnalyzed = &r.InsightsCreated, &r.ProceduresCreated, &r.MemoriesAnalyzed
	p.Insights, p.Procedures = part(r.Insights, from), part(r.Procedures, from)
	p.Skipped, p.BudgetReached, p.DryRun = r.Skipped, r.BudgetReached, r.DryRun
	if next := from + reflectionPage; next < max(len(r.Insights), len(r.Procedures)) {
		page, err := pageOf(ctx, c, []string{}, strconv.Itoa(next), filter)
		if err != nil {
			return err
		}
		p.NextPageToken = page.NextPageToken
	}
	return nil
}

// part is a page of a list, never null.
func part[T any](list []T, from int) []T {
	from = min(from, len(list))
	return append([]T{}, list[from:min(from+reflectionPage, len(list))]...)
}

// ReflectionCancel names a reflection.
type ReflectionCancel struct {
	JobID string `json:"job_id"`
	// UserID, if set, must be the job's user; for another user there is no such job.
	UserID string `json:"user_id,omitempty"`
}

// ReflectionCancelled is the outcome of a request to cancel.
type ReflectionCancelled struct {
	// Status is the job's present status: a running job is still running, and stops soon.
	// not_found means that there is no such job.
	Status string `json:"status"`
	// Cancelled is whether the request changed anything.
	Cancelled bool `json:"cancelled"`
}

func reflectionCancel(ctx context.Context, c *Call, in *ReflectionCancel) (*ReflectionCancelled, error) {
	j, err := c.findReflection(ctx, in.JobID, in.UserID)
	if err != nil {
		return nil, err
	}
	if j == nil {
		return &ReflectionCancelled{Status: ReflectionNotFound}, nil
	}
	done, err := c.Host.Jobs.Cancel(ctx, j.ID, "")
	if err != nil {
		return nil, err
	}
	return &ReflectionCancelled{string(done.Status), done.Changed}, nil
}
