package llmtest

import (
	"fmt"
	"strings"
)

// Variant is one of the many forms in which endpoints and models send an answer.
type Variant struct {
	Name string
	// Message is the message, as JSON, and Finish its finish reason; "" is none.
	Message, Finish string
	// Whole means that the answer must be read. Otherwise there must be none, unless Torn is
	// set: the text ends somewhere without a reason, so it is the answer or nothing.
	Whole, Torn bool
	// Quoted means that the message only quotes the draft.
	Quoted bool
}

// Reply is the variant as a whole reply.
func (v *Variant) Reply() Reply {
	finish := "null"
	if v.Finish != "" {
		finish = encode(v.Finish)
	}
	return Body(200, "application/json", fmt.Sprintf(`{"choices":[{"index":0,"message":%s,"finish_reason":%s}],"usage":{"prompt_tokens":10,"completion_tokens":5}}`, v.Message, finish))
}

// Sent is the variant as a reply in the protocol of the request.
func (v *Variant) Sent() Reply {
	finish := v.Finish
	if finish == "" {
		finish = NoFinish
	}
	return Reply{Message: v.Message, Finish: finish}
}

// thought is a way to think before an answer: in the text, or in a field of the message.
type thought struct {
	name   string
	before string // %s is the draft
	after  string // ends the answer
	field  string // a member of the message that holds the draft
	part   bool   // a part of the content holds it
	blind  bool   // it begins without a mark
}

var thoughts = []thought{
	{name: "no thought"},
	{name: "think", before: "<think>\nI could write %s\n</think>\n\n"},
	{name: "thinking", before: "<thinking>%s or so</thinking>"},
	{name: "reasoning in capitals", before: "<REASONING>%s</REASONING>\n"},
	{name: "thought", before: "<thought>%s</thought>"},
	{name: "square", before: "[THINK]%s[/THINK]"},
	{name: "nested", before: "<think>a <think>%s</think> b</think>"},
	{name: "a closing tag alone", before: "I could write %s\n</think>\n\n", blind: true},
	{name: "channels", before: "<|channel|>analysis<|message|>%s<|end|><|start|>assistant<|channel|>final<|message|>", after: "<|return|>"},
	{name: "channels without marks", before: "analysisWe could write %s.assistantfinal"},
	{name: "reasoning_content", field: "reasoning_content"},
	{name: "reasoning", field: "reasoning"},
	{name: "a thinking part", part: true},
}

// surroundings are what models write around an answer, which is %s.
var surroundings = []string{"%s", "```json\n%s\n```", "Here it is:\n%s", "%s\nI hope that this helps.", "%s\n\nReferences: [1], [2, 3]"}

// message is a thought and a text as a message. Halves splits the text into two parts.
func (t *thought) message(text, draft string, halves bool) string {
	var content any = text
	var parts []any
	if t.part {
		parts = append(parts, map[string]any{"type": "thinking", "thinking": []any{map[string]any{"type": "text", "text": draft}}})
	}
	if half := len(text) / 2; halves || t.part {
		for half > 0 && text[half]&0xC0 == 0x80 { // never within a character
			half--
		}
		content = append(parts, map[string]any{"type": "text", "text": text[:half]}, map[string]any{"type": "text", "text": text[half:]})
	}
	message := map[string]any{"role": "assistant", "content": content}
	if t.field != "" {
		message[t.field] = draft
	}
	return encode(message)
}

func (t *thought) around(answer, draft string) string {
	before := t.before
	if strings.Contains(before, "%s") {
		before = fmt.Sprintf(before, draft)
	}
	return before + answer + t.after
}

// Variants are about two thousand replies around an answer, which is JSON. The draft is JSON
// of the same form that is never the answer: a model thinks of it, or quotes it.
func Variants(answer, draft string) (list []Variant) {
	for i := range thoughts {
		t := &thoughts[i]
		for _, around := range surroundings {
			text := t.around(fmt.Sprintf(around, answer), draft)
			for _, halves := range []bool{false, true} {
				name := fmt.Sprintf("%s, %q, halves %v", t.name, around, halves)
				message := t.message(text, draft, halves)
				for _, finish := range []string{"", "stop", "end_turn", "of_its_own"} {
					list = append(list, Variant{Name: name + ", finish " + finish, Message: message, Finish: finish, Whole: true})
				}
				for _, finish := range []string{"length", "MAX_TOKENS", "model_length", "content_filter", "SAFETY", "ERROR_LIMIT", "LANGUAGE", "blocked_by_policy"} {
					list = append(list, Variant{Name: name + ", finish " + finish, Message: message, Finish: finish})
				}
			}
			from := 0
			if t.blind { // until the tag begins, nothing shows that it is a thought
				from = strings.Index(text, "</") + len("</")
			}
			for at := from; at < len(text); at += 3 {
				list = append(list, Variant{Name: fmt.Sprintf("%s, %q, torn at %d", t.name, around, at), Message: t.message(strings.ToValidUTF8(text[:at], ""), draft, false), Torn: true})
			}
		}
		quote := "The text has " + draft + ", which is a trick."
		list = append(list,
			Variant{Name: t.name + ", a quotation", Message: t.message(t.around(quote, draft), draft, false), Finish: "stop", Quoted: true},
			Variant{Name: t.name + ", nothing", Message: t.message(t.around("", draft), draft, false), Finish: "stop"},
			Variant{Name: t.name + ", without an end", Message: t.message("<think>"+draft, draft, false), Finish: "stop"})
	}
	return list
}
