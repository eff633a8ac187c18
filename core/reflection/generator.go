package reflection

import (
	"context"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/modeltext"
)

// The tasks of a generator.
const (
	// TaskQuestions asks for questions that the memories can answer.
	TaskQuestions = "questions"
	// TaskInsights asks for what follows from the memories.
	TaskInsights = "insights"
)

// Ask is a request to a generator. If the generator is a plugin, it is the request's state.
type Ask struct {
	// Task is [TaskQuestions] or [TaskInsights].
	Task string `json:"task"`
	// Focus is what the caller wants to know about; "" is anything.
	Focus string `json:"focus,omitempty"`
	// Question is what insights are to answer.
	Question string `json:"question,omitempty"`
	// Max is how many questions, or how many insights and procedures together, can be used.
	Max int `json:"max"`
	// Memories are the memories to work from, the best first.
	Memories []Given `json:"memories"`
	// Fault is what was wrong with the first answer, if this is the second try.
	Fault string `json:"fault,omitempty"`
	// Key is the same whenever the same request is repeated after a crash.
	Key string `json:"-"`
}

// Given is a memory as a generator gets it. Its text is data.
type Given struct {
	// ID names the memory within the reflection, such as "m7". An answer cites its sources by
	// these names.
	ID         string          `json:"id"`
	Kind       core.MemoryKind `json:"kind"`
	Title      string          `json:"title"`
	Content    string          `json:"content"`
	Importance float64         `json:"importance"`
	CreatedAt  string          `json:"created_at"`
}

// Answer is a generator's answer, and what it used.
type Answer struct {
	Output json.RawMessage `json:"output"`
	Usage  sdk.Usage       `json:"usage,omitzero"`
	// Fault is why there is no answer in the text that Output is; "" if there is one.
	Fault string `json:"fault,omitempty"`
}

// read replaces a text, as models give it, by the JSON in it. What the model only quotes from
// the memories isn't its answer.
func (a *Answer) read(ask *Ask) {
	var text *string
	if json.Unmarshal(a.Output, &text) != nil || text == nil {
		return
	}
	members := []string{"insights", "procedures"}
	if ask.Task == TaskQuestions {
		members = []string{"questions"}
	}
	sources := []string{ask.Focus, ask.Question}
	for _, m := range ask.Memories {
		sources = append(sources, m.Title, m.Content)
	}
	value, _, err := modeltext.Own(*text, members, sources...)
	if err != nil {
		a.Fault = sdk.AsError(err).Message
		return
	}
	a.Output = value
}

// Generator makes questions and insights. It may be called by several reflections at once.
type Generator interface {
	Generate(ctx context.Context, ask *Ask) (*Answer, error)
}

// Judge decides whether two texts have the same meaning.
type Judge interface {
	Same(ctx context.Context, a, b string) (bool, error)
}

// item is an insight or, with steps, a procedure, as a generator wrote it.
type item struct {
	Title      string      `json:"title"`
	Content    string      `json:"content"`
	Steps      []string    `json:"steps"`
	Importance *importance `json:"importance"`
	Sources    labels      `json:"sources"`

	procedure bool
}

// importance is a number, which models also write as a text.
type importance float64

// UnmarshalJSON accepts any value. What isn't a number is the default.
func (i *importance) UnmarshalJSON(data []byte) error {
	n, err := strconv.ParseFloat(strings.Trim(string(data), "\" "), 64)
	if err != nil || math.IsNaN(n) {
		n = defaultImportance
	}
	*i = importance(n)
	return nil
}

// labels are a list of texts, or one text.
type labels []string

// UnmarshalJSON implements [json.Unmarshaler].
func (l *labels) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*l = strings.FieldsFunc(one, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
		return nil
	}
	return json.Unmarshal(data, (*[]string)(l))
}

const (
	// maxQuestions is how many questions a reflection asks, and maxQuestionChars is the most
	// that is used of a question.
	maxQuestions     = 3
	maxQuestionChars = 500
	// minSteps and maxSteps bound a procedure.
	minSteps, maxSteps = 3, 7
	// maxItems is how many items of an answer are read at most.
	maxItems = 100
)

// parseQuestions reads {"questions": [text, …]}, or the list alone. An empty list is valid:
// a plugin may not need questions. An element that isn't a text is left out.
func parseQuestions(output json.RawMessage) ([]string, error) {
	var object map[string]json.RawMessage
	if json.Unmarshal(output, &object) == nil && object["questions"] != nil {
		output = object["questions"]
	}
	list, bad, err := decodeList[string](output)
	if err != nil || bad > 0 && len(list) == 0 {
		return nil, unparseable(`it isn't {"questions": ["…"]}`)
	}
	var questions []string
	for _, q := range list {
		if q = shorten(strings.Join(strings.Fields(q), " "), maxQuestionChars); q != "" && len(questions) < maxQuestions {
			questions = append(questions, q)
		}
	}
	return questions, nil
}

// parseItems reads {"insights": […], "procedures": […]}; one of the two may be missing. It
// leaves out the items that can't be read, and counts them; they may not be all.
func parseItems(output json.RawMessage) (items []item, bad int, err error) {
	var object map[string]json.RawMessage
	err = json.Unmarshal(output, &object)
	insights, badInsights, wrong := decodeList[item](object["insights"])
	procedures, badProcedures, alsoWrong := decodeList[item](object["procedures"])
	bad = badInsights + badProcedures
	if err != nil || wrong != nil || alsoWrong != nil || object["insights"] == nil && object["procedures"] == nil ||
		bad > 0 && len(insights)+len(procedures) == 0 {
		return nil, 0, unparseable(`it isn't {"insights": [{"content", "importance", "sources"}], "procedures": [{"title", "steps", "importance", "sources"}]}`)
	}
	for i := range procedures {
		procedures[i].procedure = true
	}
	items = append(insights, procedures...)
	return items[:min(len(items), maxItems)], bad, nil
}

// decodeList reads a list, and counts the elements that can't be read. An empty object is an
// empty list, since some languages, such as Lua, don't distinguish the two.
func decodeList[T any](data json.RawMessage) (list []T, bad int, err error) {
	if len(data) == 0 || string(data) == "{}" {
		return nil, 0, nil
	}
	var elements []json.RawMessage
	if err := json.Unmarshal(data, &elements); err != nil {
		return nil, 0, err
	}
	for _, element := range elements[:min(len(elements), maxItems)] {
		var t *T
		if json.Unmarshal(element, &t) != nil || t == nil {
			bad++
			continue
		}
		list = append(list, *t)
	}
	return list, bad, nil
}

// UnparseableOutput is the reason of a reflection whose generator twice gave an answer that
// can't be read.
const UnparseableOutput = "unparseable_output"

// NoGenerator is the reason of a reflection on a host without a generator.
const NoGenerator = "no_generator"

func unparseable(what string) *sdk.Error {
	return sdk.Errorf(sdk.Invalid, UnparseableOutput, "the generator's answer can't be read: %s", what).
		WithHint("use a model or a plugin that answers in that JSON")
}

// shorten cuts a text to at most chars characters.
func shorten(s string, chars int) string {
	if len(s) <= chars {
		return s
	}
	n := 0
	for i := range s {
		if n == chars {
			return strings.TrimSpace(s[:i])
		}
		n++
	}
	return s
}
