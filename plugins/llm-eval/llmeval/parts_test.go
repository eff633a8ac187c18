package llmeval_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
	"github.com/reflectory/reflectory/sdk"
)

// partsOf is a user's message with a part between two texts.
func partsOf(part object) []object {
	return []object{{"role": "user", "content": []object{{"type": "text", "text": "before"}, part, {"type": "text", "text": "after"}}}}
}

// TestParts_InEachProtocol are in the form that the provider documents (OpenAI: chat completions and responses;
// Anthropic: vision and PDF support; Ollama: /api/chat, as published in November 2026), or are refused.
func TestParts_InEachProtocol(t *testing.T) {
	chat, responses, messages, ollama := llmtest.PathChat, llmtest.PathResponses, llmtest.PathMessages, llmtest.PathOllama
	note := base64.StdEncoding.EncodeToString([]byte("a note"))
	for name, test := range map[string]struct {
		part object
		want map[string]string // by the protocol's path; what isn't there is refused
	}{
		"an image": {object{"type": "image", "base64": "QQ==", "media_type": "image/png"}, map[string]string{
			chat:      `"content":[{"text":"before","type":"text"},{"image_url":{"url":"data:image/png;base64,QQ=="},"type":"image_url"},{"text":"after","type":"text"}]`,
			responses: `"content":[{"text":"before","type":"input_text"},{"image_url":"data:image/png;base64,QQ==","type":"input_image"},{"text":"after","type":"input_text"}]`,
			messages:  `"content":[{"text":"before","type":"text"},{"source":{"data":"QQ==","media_type":"image/png","type":"base64"},"type":"image"},{"text":"after","type":"text"}]`,
			ollama:    `"content":"before\n\nafter","images":["QQ=="]`,
		}},
		"an image by its address": {object{"type": "image", "url": "https://p.example/a.png"}, map[string]string{
			chat:      `{"image_url":{"url":"https://p.example/a.png"},"type":"image_url"}`,
			responses: `{"image_url":"https://p.example/a.png","type":"input_image"}`,
			messages:  `{"source":{"type":"url","url":"https://p.example/a.png"},"type":"image"}`,
		}},
		"a file": {object{"type": "file", "base64": "QQ==", "media_type": "application/pdf", "name": "a.pdf"}, map[string]string{
			chat:      `{"file":{"file_data":"data:application/pdf;base64,QQ==","filename":"a.pdf"},"type":"file"}`,
			responses: `{"file_data":"data:application/pdf;base64,QQ==","filename":"a.pdf","type":"input_file"}`,
			messages:  `{"source":{"data":"QQ==","media_type":"application/pdf","type":"base64"},"type":"document"}`,
		}},
		"a file by its address": {object{"type": "file", "url": "https://p.example/a.pdf"}, map[string]string{
			responses: `{"file_url":"https://p.example/a.pdf","type":"input_file"}`,
			messages:  `{"source":{"type":"url","url":"https://p.example/a.pdf"},"type":"document"}`,
		}},
		"a file of text": {object{"type": "file", "base64": note, "media_type": "text/markdown", "name": "n.md"}, map[string]string{
			chat: `{"text":"n.md:\n\na note","type":"text"}`, responses: `{"text":"n.md:\n\na note","type":"input_text"}`,
			messages: `{"text":"n.md:\n\na note","type":"text"}`, ollama: `"content":"before\n\nn.md:\n\na note\n\nafter"`,
		}},
	} {
		inEach(t, func(t *testing.T, path string) {
			server := llmtest.New(t, llmtest.Text("seen"))
			config := configIn(path, server.URL, object{"messages": partsOf(test.part)})
			want := test.want[path]
			if want == "" {
				if _, err := plugin(t).Generator(t.Context(), config); err == nil || !strings.Contains(err.Error(), "this endpoint takes") {
					t.Errorf("%s: %v", name, err)
				}
				return
			}
			res := generate(t, config)
			if body := string(server.Requests()[0].Body); !strings.Contains(body, want) {
				t.Errorf("%s: sent %s\nwant %s", name, body, want)
			}
			if shown := res.Metadata[sdk.MetadataPrompt]; strings.Contains(shown, "QQ==") || !strings.Contains(shown, "before") {
				t.Errorf("%s: the recorded prompt is %s", name, shown)
			}
		})
	}
}

func TestParts_WrongConfigs(t *testing.T) {
	for says, part := range map[string]object{
		"messages[0].content[1].type":             {"type": "video"},
		"base64 or of url":                        {"type": "image"},
		"of one of them only":                     {"type": "image", "base64": "QQ==", "url": "https://p.example"},
		"begin with https://":                     {"type": "image", "url": "http://p.example"},
		"media_type \"\" is not":                  {"type": "image", "base64": "QQ=="},
		"such as image/png":                       {"type": "image", "base64": "QQ==", "media_type": "application/pdf"},
		"can't be decoded":                        {"type": "image", "base64": "Q", "media_type": "image/png"},
		"isn't text in UTF-8":                     {"type": "file", "base64": "/w==", "media_type": "text/plain"},
		"unknown key messages[0].content[1].data": {"type": "text", "text": "", "data": ""},
		"text is missing":                         {"type": "text"},
	} {
		if _, err := plugin(t).Generator(t.Context(), configFor("http://127.0.0.1:1", object{"messages": partsOf(part)})); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	for says, message := range map[string]object{
		"neither text nor a list of parts": {"role": "user", "content": 7},
		"content is missing":               {"role": "user"},
		"only a message of the user":       {"role": "assistant", "content": []object{{"type": "image", "url": "https://p.example"}}},
	} {
		if _, err := plugin(t).Generator(t.Context(), configFor("http://127.0.0.1:1", object{"messages": []object{message}})); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

// A model that takes no system message reads it before the parts.
func TestParts_AfterWhatTheSystemSays(t *testing.T) {
	server := llmtest.New(t, llmtest.Text("seen"))
	generate(t, configFor(server.URL, object{
		"llm":      object{"provider": "openai", "base_url": server.URL + "/v1", "model": "m", "dialect": object{"refuses": []string{"system"}}},
		"messages": append([]object{{"role": "system", "content": "Look."}}, partsOf(object{"type": "image", "base64": "QQ==", "media_type": "image/png"})...),
	}))
	if body := string(server.Requests()[0].Body); !strings.Contains(body, `"messages":[{"role":"user","content":[{"text":"Look.","type":"text"},{"text":"before","type":"text"},{"image_url"`) {
		t.Errorf("sent %s", body)
	}
}

// TestParts_LargeOnes are sent as small ones are, and nothing else becomes what they are: not a text that looks
// like one, nor base64 that isn't a part's.
func TestParts_LargeOnes(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	large := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x00\xff picture", 10_000)))
	other := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("another one", 10_000)))
	text := strings.Repeat("words ", 20_000)
	parts := []object{
		{"type": "image", "base64": large, "media_type": "image/png"},
		{"type": "text", "text": `"base64": "` + large + `"`},
		{"type": "image", "base64": other, "media_type": "image/png"},
		{"type": "image", "base64": large, "media_type": "image/png"},
		{"type": "file", "base64": base64.StdEncoding.EncodeToString([]byte(text)), "media_type": "text/plain"},
	}
	inEach(t, func(t *testing.T, path string) {
		server := llmtest.New(t, llmtest.Status(500).RetryAfter("0"), llmtest.Text("seen"))
		res := generate(t, configIn(path, server.URL, object{"messages": []object{{"role": "user", "content": parts}}}))
		for _, asked := range server.Requests() { // the second is the first again
			body := string(asked.Body)
			if a, b := strings.Count(body, large), strings.Count(body, other); a != 3 || b != 1 || !strings.Contains(body, text) {
				t.Errorf("the pictures were sent %d and %d times, of 3 and 1, in %d bytes", a, b, len(body))
			}
		}
		if shown := res.Metadata[sdk.MetadataPrompt]; !strings.Contains(shown, "image/png, 100000 bytes]") {
			t.Errorf("the recorded prompt is %.500s", shown)
		}
	})
	for says, part := range map[string]object{
		"can't be decoded":                                 {"type": "image", "base64": large + "Q", "media_type": "image/png"},
		"base64 has 20971521 bytes (limit 20971520)":       {"type": "image", "base64": base64.StdEncoding.EncodeToString(make([]byte, 20<<20+1)), "media_type": "image/png"},
		"base64 has 4194305 bytes of text (limit 4194304)": {"type": "file", "base64": base64.StdEncoding.EncodeToString(make([]byte, 4<<20+1)), "media_type": "text/plain"},
		"is not the type of an image":                      {"type": "image", "base64": large},
		"unknown key messages[0].content[1].data":          {"type": "text", "text": "", "data": object{"base64": large}},
	} {
		if _, err := plugin(t).Generator(t.Context(), configFor("http://127.0.0.1:1", object{"messages": partsOf(part)})); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %.300v", says, err)
		}
	}
	server := llmtest.New(t, llmtest.Text("seen"))
	call := []object{{"id": "c", "name": "look", "arguments": object{"base64": large}}}
	generate(t, configFor(server.URL, object{"messages": []object{{"role": "user", "content": parts[:1]}, {"role": "assistant", "content": "", "tool_calls": call}, {"role": "tool", "content": "x", "tool_call_id": "c"}}}))
	if got := strings.Count(string(server.Requests()[0].Body), large); got != 2 {
		t.Errorf("a call's argument: sent %d times, want 2", got)
	}
}
