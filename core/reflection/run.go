package reflection

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// A reflection may be stopped at any point and started again by another process. So each
// part that costs something or makes a choice is a step, whose outcome is saved before it
// is used. Everything else follows from what was saved. An insight's number is its place in
// the saved answers, so a number means the same insight in every attempt.

// Reader reads memories.
type Reader interface {
	// Each calls fn for each memory of a namespace, the newest first, until fn returns false.
	// It leaves out memories that are older than since.
	Each(ctx context.Context, namespace string, since time.Time, fn func(*core.Memory) (more bool)) error
	// Sources are the memories with these ids that still exist and can be recalled.
	Sources(ctx context.Context, ids []string) ([]*core.Memory, error)
	// RecallAmong recalls from the memories with these ids.
	RecallAmong(ctx context.Context, r *core.RecallRequest, ids []string) (*core.RecallResult, error)
}

// Writer writes insights.
type Writer interface {
	// Reflect writes a reflection. Reflected returns the result of the same earlier request;
	// nil if there was none.
	Reflect(ctx context.Context, r *core.ReflectRequest) (*core.ReflectResult, error)
	Reflected(ctx context.Context, r *core.ReflectRequest) (*core.ReflectResult, error)
}

// Steps saves what was paid for. Step returns what any attempt saved under a name. If
// nothing was saved, Step calls do and saves the answer, together with the memories whose
// content the answer may contain.
type Steps interface {
	Step(ctx context.Context, name string, do func(context.Context) (data json.RawMessage, memories []string, err error)) (json.RawMessage, error)
}

// Run is one reflection. It is used once, by one goroutine.
type Run struct {
	// JobID names the job: the keys of what it writes begin with it.
	JobID   string
	Request Request
	Store   core.Store
	Read    Reader
	Write   Writer
	Steps   Steps
	// Generator makes questions and insights; nil ends the reflection with [NoGenerator].
	Generator Generator
	// Judge decides whether an insight without an equal normal form is already known; it may
	// be nil.
	Judge Judge
	// Normal returns the normal form of a text. An insight is known if a memory has an equal
	// form.
	Normal func(string) string
	Clock  core.Clock
	// MaxTokens and MaxCostUSD are the budget: once they are used, nothing more is asked. 0 is
	// no limit.
	MaxTokens  int64
	MaxCostUSD float64
	// AndRestart ends a hint to change the settings: a server reads them when it is started.
	AndRestart string
	// Progress is called with the progress, from 0 to 1; it may be nil.
	Progress func(float64)

	input *input
	// places are the input's memories by label and by id.
	places map[string]int
	result *Result
	known  map[string]bool
	// number is how many items earlier answers had.
	number int
}

// Do reflects. If it fails, the result next to the error shows how much was done.
func (r *Run) Do(ctx context.Context) (*Done, error) {
	r.result = newResult(r.Request.DryRun)
	done := &Done{Result: r.result}
	if r.Generator == nil {
		return done, sdk.Errorf(sdk.Invalid, NoGenerator, "nothing is set up that makes insights").
			WithHint("name a model in settings.llm, or a plugin in settings.reflection.generator%s", r.AndRestart)
	}
	var err error
	if r.input, err = r.choose(ctx); err != nil {
		return done, err
	}
	done.input, done.Memories = r.input, r.input.IDs
	r.result.MemoriesAnalyzed = len(r.input.IDs)
	if r.result.Skipped = r.input.Skip; r.result.Skipped != "" {
		return done, nil
	}
	r.places = map[string]int{}
	for i, id := range r.input.IDs {
		r.places[label(i)], r.places[id] = i, i
	}
	if err := r.findQuestions(ctx); err != nil {
		return done, err
	}
	for i, question := range r.result.Questions {
		if r.spent() {
			r.result.BudgetReached = true
			break
		}
		left := r.max() - r.result.created()
		if left <= 0 {
			break
		}
		questionsLeft := len(r.result.Questions) - i
		quota := max(1, (left+questionsLeft-1)/questionsLeft)
		if err := r.answer(ctx, i, question, quota); err != nil {
			return done, err
		}
		r.progress(float64(i+2) / float64(len(r.result.Questions)+1))
	}
	return done, nil
}

func (r *Run) max() int {
	if r.Request.MaxInsights == 0 {
		return DefaultMaxInsights
	}
	return r.Request.MaxInsights
}

func (r *Run) progress(p float64) {
	if r.Progress != nil {
		r.Progress(p)
	}
}

// spent reports whether the budget is used.
func (r *Run) spent() bool {
	u := r.result.Usage
	return r.MaxTokens > 0 && u.TokensIn+u.TokensOut >= r.MaxTokens || r.MaxCostUSD > 0 && u.CostUSD >= r.MaxCostUSD
}

const (
	// questionChars and insightChars are how much of each memory a generator gets when it
	// makes questions of all, and insights of some.
	questionChars, insightChars = 400, 4000
	// recalled is how many memories are used to answer a question.
	recalled = 12
)

// builtinQuestion is asked if there is no other question.
const builtinQuestion = "What is worth remembering here: what repeats, what worked, and what should be done differently?"

// findQuestions gets the questions.
func (r *Run) findQuestions(ctx context.Context) error {
	var questions []string
	err := r.asked(ctx, "questions", func(fault string) (*Ask, error) {
		memories, err := r.given(ctx, r.input.IDs, questionChars)
		return &Ask{Task: TaskQuestions, Focus: r.Request.Focus, Max: maxQuestions, Memories: memories, Fault: fault}, err
	}, func(output json.RawMessage) (err error) {
		questions, err = parseQuestions(output)
		return err
	})
	if err != nil {
		return err
	}
	if len(questions) == 0 {
		questions = []string{builtinQuestion}
		if r.Request.Focus != "" {
			questions[0] = shorten(r.Request.Focus, maxQuestionChars)
		}
	}
	r.result.Questions = questions
	r.progress(1 / float64(len(questions)+1))
	return nil
}

// asked asks the generator, and asks once more, naming the fault, if parse can't read the
// answer.
func (r *Run) asked(ctx context.Context, step string, make func(fault string) (*Ask, error), parse func(json.RawMessage) error) error {
	fault := ""
	for _, name := range []string{step, step + "-again"} {
		data, err := r.Steps.Step(ctx, name, func(ctx context.Context) (json.RawMessage, []string, error) {
			ask, err := make(fault)
			if err != nil {
				return nil, nil, err
			}
			ask.Key = "job/" + r.JobID + "/" + name
			answer, err := r.Generator.Generate(ctx, ask)
			if err != nil {
				return nil, nil, err
			}
			answer.read(ask)
			return jsontext.MustEncode(answer), r.input.IDs, nil
		})
		if err != nil {
			return passing(err)
		}
		var answer Answer
		if err := json.Unmarshal(data, &answer); err != nil {
			return sdk.Errorf(sdk.Internal, "step_unreadable", "what step %s saved can't be read: %w", name, err)
		}
		u := &r.result.Usage
		u.TokensIn, u.TokensOut, u.CostUSD = u.TokensIn+answer.Usage.TokensIn, u.TokensOut+answer.Usage.TokensOut, u.CostUSD+answer.Usage.CostUSD
		if err = parse(answer.Output); err == nil && answer.Fault == "" {
			return nil
		}
		if answer.Fault != "" {
			err = unparseable(answer.Fault)
		}
		r.result.Unparseable = &Unparseable{Step: name, Digest: core.Digest(answer.Output), Begins: shorten(string(answer.Output), 200)}
		e := sdk.AsError(err)
		if fault = e.Message; name != step {
			return sdk.Errorf(e.Code, e.Reason, "%s; it begins: %s", e.Message, r.result.Unparseable.Begins).WithHint("%s", e.Hint)
		}
	}
	return nil
}

// passing makes an error of a step temporary if a memory was purged meanwhile. The purge
// isn't a fault, and the step is repeated without the memory.
func passing(err error) error {
	if sdk.ReasonOf(err) == "memory_purged" {
		return sdk.Errorf(sdk.Unavailable, "memory_purged", "a memory was purged while it was reflected on: %w", err)
	}
	return err
}

// label names a memory of the input within the reflection.
func label(place int) string { return "m" + strconv.Itoa(place+1) }

// given returns memories in the form that a generator gets, without the deleted ones.
func (r *Run) given(ctx context.Context, ids []string, chars int) ([]Given, error) {
	memories, err := r.Read.Sources(ctx, ids)
	if err != nil {
		return nil, err
	}
	list := make([]Given, 0, len(memories))
	for _, m := range memories {
		list = append(list, Given{
			ID: label(r.places[m.ID]), Kind: m.Kind, Title: shorten(m.Title, chars), Content: shorten(m.Content, chars),
			Importance: m.Importance, CreatedAt: m.CreatedAt.Format(time.RFC3339),
		})
	}
	return list, nil
}

// answer gets the answers to a question, and writes them.
func (r *Run) answer(ctx context.Context, i int, question string, quota int) error {
	r.result.Unparseable = nil
	var items []item
	var bad int
	err := r.asked(ctx, "insights-"+strconv.Itoa(i+1), func(fault string) (*Ask, error) {
		found, err := r.Read.RecallAmong(ctx, &core.RecallRequest{
			Query: question, Limit: recalled, RecallFilter: core.RecallFilter{Namespace: r.Request.Namespace, Kinds: Kinds()},
		}, r.input.IDs)
		if err != nil {
			return nil, err
		}
		var ids []string
		for _, m := range found.Memories {
			ids = append(ids, m.ID)
		}
		for _, id := range r.input.IDs { // if recall finds none of the question's words
			if len(ids) < minInput && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		memories, err := r.given(ctx, ids, insightChars)
		return &Ask{Task: TaskInsights, Focus: r.Request.Focus, Question: question, Max: quota, Memories: memories, Fault: fault}, err
	}, func(output json.RawMessage) (err error) {
		items, bad, err = parseItems(output)
		return err
	})
	if err != nil {
		return err
	}
	r.result.Unparseable = nil
	r.result.Dropped += bad
	first := r.number
	r.number += len(items)
	before := r.result.created()
	for at := range items {
		if r.result.created()-before >= quota {
			r.result.Dropped += len(items) - at
			break
		}
		if err := r.write(ctx, first+at+1, question, &items[at]); err != nil {
			return err
		}
	}
	return nil
}

// text returns the text and the title of the memory that an item becomes.
func (it *item) text() (title, content string) {
	if !it.procedure {
		content = strings.TrimSpace(it.Content)
		title = strings.Join(strings.Fields(it.Title), " ")
		if title == "" {
			title = strings.Join(strings.Fields(content), " ")
		}
		return shorten(title, 80), content
	}
	title = strings.Join(strings.Fields(it.Title), " ")
	var b strings.Builder
	b.WriteString(title)
	for i, step := range it.Steps {
		fmt.Fprintf(&b, "\n%d. %s", i+1, step)
	}
	return shorten(title, 200), b.String()
}

// clean leaves out blank steps, and reports whether there is anything to write.
func (it *item) clean() bool {
	if !it.procedure {
		return strings.TrimSpace(it.Content) != ""
	}
	var steps []string
	for _, s := range it.Steps {
		if s = strings.Join(strings.Fields(s), " "); s != "" {
			steps = append(steps, s)
		}
	}
	it.Steps = steps[:min(len(steps), maxSteps)]
	return strings.TrimSpace(it.Title) != "" && len(it.Steps) >= minSteps
}
