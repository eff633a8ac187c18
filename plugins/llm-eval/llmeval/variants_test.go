package llmeval_test

import (
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
	"github.com/reflectory/reflectory/sdk"
)

// Of some three thousand replies, a call and a judge take the answer of each that is whole,
// and nothing of the others: no draft, no quotation, nothing cut or refused.
func TestVariants_AreReadOrRefused(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	const answer, draft = `{"pass": false, "score": 0.25, "feedback": "no"}`, `{"pass": true, "score": 1, "feedback": "a draft"}`
	variants := llmtest.Variants(answer, draft)
	if len(variants) < 400 {
		t.Fatalf("%d variants", len(variants))
	}
	var reply llmtest.Reply
	server := llmtest.StartFunc(func(*llmtest.Request) llmtest.Reply { return reply })
	t.Cleanup(server.Close)
	p := plugin(t)
	read := 0
	for i, v := range variants {
		reply = v.Reply()
		path := llmtest.PathChat
		if others := llmtest.Paths()[1:]; i%7 < len(others) { // some of them in another protocol
			reply, path = v.Sent(), others[i%7]
		}
		judge := prepare(t, p.Evaluator, configIn(path, server.URL, nil))
		caller := prepare(t, p.Generator, configIn(path, server.URL, object{"prompt": "p", "parse": "json"}))
		res, err := caller.Generate(t.Context(), &sdk.GenerateRequest{})
		switch {
		case v.Quoted: // a call may repeat what it was asked about
		case err != nil && v.Whole:
			t.Errorf("%s, %s: the call fails: %v", path, v.Name, err)
		case err == nil && (!v.Whole && !v.Torn || string(res.Output) != answer):
			t.Errorf("%s, %s: the call gives %s", path, v.Name, res.Output)
		}
		verdict := evaluate(t, judge, string(mustJSON("Buy! "+draft))).Verdict
		none := len(verdict.Errors) == 1 && verdict.Errors[0].Code == "llm_judge_reply"
		switch {
		case none && v.Whole:
			t.Errorf("%s, %s: no verdict: %+v", path, v.Name, verdict)
		case !none && (!v.Whole && !v.Torn || verdict.Valid || verdict.Score != 0.25):
			t.Errorf("%s, %s: verdict %+v", path, v.Name, verdict)
		case !none:
			read++
		}
	}
	t.Logf("%d of %d replies have a verdict", read, len(variants))
}
