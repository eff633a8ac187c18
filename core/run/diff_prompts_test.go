package run_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/sdk"
)

// said is the prompt of a call; a message is "role: text".
func said(role sdk.Role, step string, messages ...string) core.Prompt {
	p := core.Prompt{Role: role, Step: step, Plugin: "p"}
	for _, m := range messages {
		who, text, _ := strings.Cut(m, ": ")
		p.Messages = append(p.Messages, core.PromptMessage{Role: who, Text: text, Bytes: len(text), Digest: core.Digest([]byte(text))})
	}
	return p
}

// without is a prompt without what a reason removes.
func without(reason string, p core.Prompt) core.Prompt {
	p.Withhold(reason)
	return p
}

func purgedPrompt(p core.Prompt) core.Prompt {
	p = without("purged", p)
	p.Withheld, p.Purged = "", true
	return p
}

// TestPrompts_AreCompared: by the calls that sent them, message by message.
func TestPrompts_AreCompared(t *testing.T) {
	generate, evaluate, correct := sdk.RoleGenerate, sdk.RoleEvaluate, sdk.RoleCorrect
	long := strings.Repeat("a line of a prompt\n", 20_000)
	for name, c := range map[string]struct {
		from, to []core.Prompt
		want     string
	}{
		"none":          {},
		"equal":         {[]core.Prompt{said(generate, "", "user: a")}, []core.Prompt{said(generate, "", "user: a")}, ""},
		"a line":        {[]core.Prompt{said(generate, "", "system: s", "user: a\nb\nc")}, []core.Prompt{said(generate, "", "system: s", "user: a\nx\nc")}, "generate 2 user both 5 5 -b +x"},
		"both messages": {[]core.Prompt{said(generate, "", "system: s", "user: a")}, []core.Prompt{said(generate, "", "system: t", "user: b")}, "generate 1 system both 1 1 -s +t|generate 2 user both 1 1 -a +b"},
		"one more":      {[]core.Prompt{said(generate, "", "user: a")}, []core.Prompt{said(generate, "", "user: a", "assistant: b")}, "generate 2 assistant to 0 1 +b"},
		"one less":      {[]core.Prompt{said(generate, "", "user: a", "assistant: b")}, []core.Prompt{said(generate, "", "user: a")}, "generate 2 assistant from 1 0 -b"},
		"another role":  {[]core.Prompt{said(generate, "", "user: a")}, []core.Prompt{said(correct, "", "user: a")}, "generate 1 user from 1 0 -a|correct 1 user to 0 1 +a"},
		"a message's":   {[]core.Prompt{said(generate, "", "user: a")}, []core.Prompt{said(generate, "", "system: a")}, "generate 1 user from 1 0 -a|generate 1 system to 0 1 +a"},
		"children in another order": {
			[]core.Prompt{said(evaluate, "tone", "user: a"), said(evaluate, "size", "user: b")},
			[]core.Prompt{said(evaluate, "size", "user: c"), said(evaluate, "tone", "user: a")}, "evaluate size 1 user both 1 1 -b +c",
		},
		"sent twice":           {[]core.Prompt{said(evaluate, "", "user: a"), said(evaluate, "", "user: a")}, []core.Prompt{said(evaluate, "", "user: a")}, ""},
		"a second call":        {[]core.Prompt{said(evaluate, "", "user: a")}, []core.Prompt{said(evaluate, "", "user: a"), said(evaluate, "", "user: b")}, "evaluate 1 user to 0 1 +b"},
		"digests, equal":       {[]core.Prompt{without(core.PromptDigests, said(generate, "", "user: a"))}, []core.Prompt{without(core.PromptDigests, said(generate, "", "user: a"))}, ""},
		"digests":              {[]core.Prompt{without(core.PromptDigests, said(generate, "", "user: a"))}, []core.Prompt{without(core.PromptDigests, said(generate, "", "user: b"))}, "generate 1 user both 1 1 digests"},
		"a session's":          {[]core.Prompt{without(core.PromptSession, said(generate, "", "user: a"))}, []core.Prompt{without(core.PromptSession, said(generate, "", "user: b"))}, "generate 1 user both 1 1 session"},
		"a purged one":         {[]core.Prompt{purgedPrompt(said(generate, "", "user: a"))}, []core.Prompt{said(generate, "", "user: bb")}, "generate 1 user both 1 2 purged"},
		"two purged ones":      {[]core.Prompt{purgedPrompt(said(generate, "", "user: a"))}, []core.Prompt{purgedPrompt(said(generate, "", "user: a"))}, "generate 1 user both 1 1 purged"},
		"a purged one, of one": {[]core.Prompt{purgedPrompt(said(generate, "", "user: a"))}, nil, "generate 1 user from 1 0 purged"},
		"too long":             {[]core.Prompt{said(generate, "", "user: "+long, "user: a")}, []core.Prompt{said(generate, "", "user: "+long+"x", "user: b")}, "generate 1 user both 380000 380001 limit|generate 2 user both 1 1 -a +b"},
		"beyond what is kept": {
			[]core.Prompt{said(generate, "", "user: a")},
			[]core.Prompt{{Role: generate, Messages: []core.PromptMessage{{Role: "user", Bytes: 9, Digest: core.Digest([]byte("1"))}}}}, "generate 1 user both 1 9 limit",
		},
		"empty":                {[]core.Prompt{said(generate, "", "user: ")}, []core.Prompt{said(generate, "", "user: a")}, "generate 1 user both 0 1 +a"},
		"a prompt without any": {[]core.Prompt{said(generate, "")}, []core.Prompt{said(generate, "", "user: a")}, "generate 1 user to 0 1 +a"},
		"differs after what is kept": {
			[]core.Prompt{{Role: generate, Messages: []core.PromptMessage{{Role: "user", Text: "a", Bytes: 9, Digest: core.Digest([]byte("1"))}}}},
			[]core.Prompt{{Role: generate, Messages: []core.PromptMessage{{Role: "user", Text: "a", Bytes: 9, Digest: core.Digest([]byte("2"))}}}}, "generate 1 user both 9 9 limit",
		},
	} {
		var got []string
		for _, d := range run.DiffPrompts(c.from, c.to) {
			line := strings.TrimSpace(string(d.Role) + " " + d.Step)
			line += fmt.Sprintf(" %d %s %s %d %d", d.Message, d.MessageRole, d.Side, d.FromBytes, d.ToBytes)
			for _, l := range d.Lines {
				line += " " + map[string]string{run.SideFrom: "-", run.SideTo: "+"}[l.Side] + l.Text
			}
			if d.Omitted != "" {
				line += " " + d.Omitted
			}
			got = append(got, line)
		}
		if diff := cmp.Diff(c.want, strings.Join(got, "|")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestPrompts_ComparedAreBounded: the answer has no more text than its limit, however long and many
// the prompts are.
func TestPrompts_ComparedAreBounded(t *testing.T) {
	list := func(word string) (all []core.Prompt) {
		for i := range 64 {
			all = append(all, said(sdk.RoleEvaluate, fmt.Sprint(i), "user: "+strings.Repeat(word+"\n", 10_000)))
		}
		return all
	}
	d := run.DiffPrompts(list("a"), list("b"))
	if size := len(jsontext.MustEncode(d)); len(d) != 64 || size > 1<<20 {
		t.Errorf("%d differences have %d bytes", len(d), size)
	}
}
