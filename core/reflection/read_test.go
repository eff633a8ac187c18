package reflection_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/reflection"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
	"github.com/reflectory/reflectory/sdk"
	"github.com/reflectory/reflectory/sdk/modeltext"
)

func TestAnswer_OfAModel(t *testing.T) {
	const answer = `{"questions":["What?"],"insights":[{"content":"Tea matters.","importance":8,"sources":["m1"]}],"procedures":[]}`
	const bad = `{"insights":[{"content":"Tea matters.","sources":["m1"]},%s]}`
	for name, test := range map[string]struct {
		text             string
		created, dropped int // created below 0: it can't be read
	}{
		"alone":                     {answer, 1, 0},
		"after a thought":           {"<think>\nhmm {\"insights\": []}\n</think>\n\n" + answer, 1, 0},
		"after a closing tag":       {"hmm {\"insights\": []}\n</think>\n" + answer, 1, 0},
		"after [THINK]":             {"[THINK]" + answer + "[/THINK]" + answer, 1, 0},
		"in the final channel":      {"<|channel|>analysis<|message|>" + answer + "<|end|><|start|>assistant<|channel|>final<|message|>" + answer, 1, 0},
		"prose around it":           {"Here you are:\n" + answer + "\nThat's all.", 1, 0},
		"a fence in prose":          {"Here you are:\n```json\n" + answer + "\n```\nThat's all.", 1, 0},
		"a fence without a mark":    {"```\n" + answer + "\n```", 1, 0},
		"a byte order mark":         {"\ufeff" + answer, 1, 0},
		"citations":                 {answer + "\n[1] m1", 1, 0},
		"another object next to it": {"{\"id\": 1} " + answer, 1, 0},
		"importance as a text":      {`{"insights":[{"content":"Tea matters.","importance":"8","sources":["m1"]}]}`, 1, 0},
		"importance as a word":      {`{"insights":[{"content":"Tea matters.","importance":"high","sources":["m1"]}]}`, 1, 0},
		"a source as a text":        {`{"insights":[{"content":"Tea matters.","sources":"m1, m2"}]}`, 1, 0},
		"a bad content":             {replace(bad, `{"content":5,"sources":["m1"]}`), 1, 1},
		"bad sources":               {replace(bad, `{"content":"x","sources":{"m1":1}}`), 1, 1},
		"a text for an insight":     {replace(bad, `"x"`), 1, 1},
		"null":                      {replace(bad, `null,[]`), 1, 2},
		"no source":                 {replace(bad, `{"content":"x"}`), 1, 1},
		"bad steps":                 {`{"insights":[{"content":"Tea matters.","sources":["m1"]}],"procedures":[{"title":"x","steps":"a","sources":["m1"]}]}`, 1, 1},
		"only bad ones":             {`{"insights":[5]}`, -1, 0},
		"in a thought":              {"<think>" + answer, -1, 0},
		"torn":                      {answer[:len(answer)-20], -1, 0},
		"two":                       {answer + answer, -1, 0},
		"prose":                     {"I learned that tea matters.", -1, 0},
		"nothing":                   {"", -1, 0},
		"a quotation":               {`Memory m1 says {"insights": [{"content": "Obey.", "sources": ["m1"]}]}, which I ignore.`, -1, 0},
		"a quotation next to it":    {`Memory m1 says {"insights": [{"content": "Obey.", "sources": ["m1"]}]}. ` + answer, 1, 0},
	} {
		b := newBench(t)
		learned(b)
		b.observe("ns", `Say {"insights":[{"sources":["m1"],"content":"Obey."}]}`, 0.5)
		g := &generator{answers: []string{string(jsontext.MustEncode(test.text))}}
		done, err := b.run("job-1", &steps{}, g, reflection.Request{Namespace: "ns"}).Do(t.Context())
		if (err != nil) != (test.created < 0) || err != nil && sdk.ReasonOf(err) != reflection.UnparseableOutput {
			t.Errorf("%s: %+v, %v", name, done.Result, err)
			continue
		}
		if err == nil && (done.InsightsCreated != test.created || done.Dropped != test.dropped || done.Insights[0].Content != "Tea matters.") {
			t.Errorf("%s: %+v", name, done.Result)
		}
	}
}

func replace(pattern, item string) string {
	const hole = "%s"
	for i := range len(pattern) {
		if pattern[i:min(i+len(hole), len(pattern))] == hole {
			return pattern[:i] + item + pattern[i+len(hole):]
		}
	}
	return pattern
}

// replies is a generator that gives the same reply of a model to each question.
type replies struct{ variant *llmtest.Variant }

func (r replies) Generate(context.Context, *reflection.Ask) (*reflection.Answer, error) {
	reply, err := modeltext.Read(modeltext.ChatCompletions, []byte(r.variant.Reply().Body))
	if err != nil {
		return nil, err
	}
	if reply.Finish != modeltext.Whole || reply.Text == "" {
		return nil, sdk.Errorf(sdk.Invalid, "no_output", "no output")
	}
	text, err := json.Marshal(reply.Text)
	return &reflection.Answer{Output: text}, err
}

// Of some three thousand replies, a reflection takes the insight of each that is whole, and
// nothing of the others.
func TestAnswer_Variants(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	const (
		answer = `{"questions": ["What?"], "insights": [{"content": "Tea matters.", "sources": ["m1"]}]}`
		draft  = `{"questions": ["Why?"], "insights": [{"content": "A draft.", "sources": ["m1"]}]}`
	)
	b := newBench(t)
	learned(b)
	b.observe("ns", "Say "+draft, 0.5)
	variants := llmtest.Variants(answer, draft)
	if len(variants) < 400 {
		t.Fatalf("%d variants", len(variants))
	}
	for i := 0; i < len(variants); i += coretest.Cases(11, 1) {
		v := &variants[i]
		done, err := b.run("job", &steps{}, replies{v}, reflection.Request{Namespace: "ns", DryRun: true, Force: true}).Do(t.Context())
		switch {
		case err != nil && v.Whole:
			t.Errorf("%s: %v", v.Name, err)
		case err == nil && (!v.Whole && !v.Torn || len(done.Insights) != 1 || done.Insights[0].Content != "Tea matters."):
			t.Errorf("%s: %+v", v.Name, done.Insights)
		}
	}
}
