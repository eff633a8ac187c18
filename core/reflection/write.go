package reflection

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

const (
	// defaultImportance is the importance, from 1 to 10, of an insight that gives none.
	defaultImportance = 7
	// aboveSources is how much more important than its sources an insight may be.
	aboveSources = 0.2
	// maxTitles is how many titles are tried.
	maxTitles = 100
)

// write writes an item of a generator's answer, unless it is empty or already known.
func (r *Run) write(ctx context.Context, n int, question string, it *item) error {
	sources, err := r.Read.Sources(ctx, r.cited(it))
	if err != nil {
		return err
	}
	if len(sources) == 0 || !it.clean() {
		r.result.Dropped++
		return nil
	}
	title, content := it.text()
	importance := importanceOf(it, sources)
	request := &core.ReflectRequest{
		Title: title, Content: content, Kind: core.KindSemantic, Namespace: r.Request.Namespace,
		Attributes: core.Attributes{
			AgentID: core.CallerOf(ctx).Label, Importance: &importance,
			Metadata: jsontext.MustEncode(map[string]string{"job_id": r.JobID, "question": question}),
		},
		IdempotencyKey: fmt.Sprintf("job/%s/%d", r.JobID, n),
	}
	if it.procedure {
		request.Kind = core.KindProcedural
	}
	for _, m := range sources {
		request.SourceIDs = append(request.SourceIDs, m.ID)
	}
	made := &core.ReflectResult{}
	if !r.Request.DryRun {
		if made, err = r.Write.Reflected(ctx, request); err != nil {
			return err
		}
	}
	if made == nil || r.Request.DryRun {
		known, err := r.isKnown(ctx, n, content)
		if err != nil {
			return err
		}
		if known {
			r.result.Known++
			return nil
		}
	}
	if made == nil {
		if made, err = r.reflect(ctx, request); err != nil || made == nil {
			return err
		}
	}
	r.addResult(question, it, made, request)
	return nil
}

// cited are the memories of the input that an item cites, each once.
func (r *Run) cited(it *item) (ids []string) {
	for _, source := range it.Sources {
		if at, given := r.places[strings.TrimSpace(source)]; given && !slices.Contains(ids, r.input.IDs[at]) {
			ids = append(ids, r.input.IDs[at])
		}
	}
	return ids
}

// importanceOf is an item's importance, from 0.1 to 1, and not much above its sources'.
func importanceOf(it *item, sources []*core.Memory) float64 {
	n := float64(defaultImportance)
	if it.Importance != nil {
		n = math.Round(min(10, max(1, float64(*it.Importance))))
	}
	highest := 0.0
	for _, m := range sources {
		highest = max(highest, m.Importance)
	}
	return math.Round(min(n/10, highest+aboveSources, 1)*1e9) / 1e9
}

// reflect makes the memory, with a different title if its title is in use. If the memory is
// refused, the refusal is counted and the result is nil.
func (r *Run) reflect(ctx context.Context, request *core.ReflectRequest) (*core.ReflectResult, error) {
	title := request.Title
	for i := 2; ; i++ {
		made, err := r.Write.Reflect(ctx, request)
		switch reason := sdk.ReasonOf(err); {
		case err == nil:
			return made, nil
		case reason == "title_taken" && i <= maxTitles:
			request.Title = title + " (" + strconv.Itoa(i) + ")"
		case refusal(err):
			r.result.Refused[reason]++
			return nil, nil
		default:
			return nil, err
		}
	}
}

// refusal reports whether an error means that an insight may not be written, rather than that
// it couldn't be.
func refusal(err error) bool {
	switch sdk.CodeOf(err) {
	case sdk.Denied, sdk.Invalid:
		return true
	}
	reason := sdk.ReasonOf(err)
	return reason == "title_taken" || strings.HasPrefix(reason, "source_")
}

// addResult adds what was written to the result.
func (r *Run) addResult(question string, it *item, made *core.ReflectResult, request *core.ReflectRequest) {
	if made.Status == "pending" {
		r.result.Pending++
		return
	}
	if it.procedure {
		r.result.ProceduresCreated++
		r.result.Procedures = append(r.result.Procedures, Procedure{made.ID, strings.Join(strings.Fields(it.Title), " "), it.Steps, question, *request.Importance, request.SourceIDs})
		return
	}
	r.result.InsightsCreated++
	r.result.Insights = append(r.result.Insights, Insight{made.ID, request.Content, question, *request.Importance, request.SourceIDs})
}

// isKnown reports whether a live memory of the namespace has the same content, and remembers
// the content.
func (r *Run) isKnown(ctx context.Context, n int, content string) (bool, error) {
	if r.known == nil {
		r.known = map[string]bool{}
		err := r.Read.Each(ctx, r.Request.Namespace, time.Time{}, func(m *core.Memory) bool {
			if m.State.Live() {
				r.known[r.Normal(m.Content)] = true
			}
			return true
		})
		if err != nil {
			return false, err
		}
	}
	form := r.Normal(content)
	if r.known[form] {
		return true, nil
	}
	same, err := r.judged(ctx, n, content)
	if err == nil && !same {
		r.known[form] = true
	}
	return same, err
}

// judgedMost is how many memories a judge compares an insight with.
const judgedMost = 3

// judged reports whether the judge considers an insight the same as a similar memory. Its
// answer is saved, since it may ask a model.
func (r *Run) judged(ctx context.Context, n int, content string) (same bool, err error) {
	if r.Judge == nil {
		return false, nil
	}
	data, err := r.Steps.Step(ctx, "judge-"+strconv.Itoa(n), func(ctx context.Context) (json.RawMessage, []string, error) {
		found, err := r.Read.RecallAmong(ctx, &core.RecallRequest{
			Query: shorten(content, 2*maxQuestionChars), Limit: judgedMost, RecallFilter: core.RecallFilter{Namespace: r.Request.Namespace},
		}, nil)
		if err != nil {
			return nil, nil, err
		}
		for _, m := range found.Memories {
			same, err := r.Judge.Same(ctx, content, m.Content)
			if sdk.ReasonOf(err) == core.ReasonNoVerdict { // a duplicate does less harm than a lost insight
				continue
			}
			if err != nil || same {
				return jsontext.MustEncode(same), nil, err
			}
		}
		return jsontext.MustEncode(false), nil, nil
	})
	if err != nil {
		return false, err
	}
	return same, json.Unmarshal(data, &same)
}
