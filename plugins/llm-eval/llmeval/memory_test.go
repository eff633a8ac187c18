package llmeval_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
	"github.com/reflectory/reflectory/sdk"
)

// TestHostileRepliesTakeLittleMemory checks that replies of the greatest size take only
// a fraction of the 256 MiB that a plugin's process may have. It counts every
// allocation, including those by the scripted server.
func TestHostileRepliesTakeLittleMemory(t *testing.T) {
	coretest.Long(t)
	if coretest.Plain(t) {
		return
	}
	const size = 8<<20 - 1<<10
	fill := func(begin, item, end string) string {
		return begin + strings.Repeat(item, (size-len(begin)-len(end))/len(item)) + end
	}
	events := func(event string) llmtest.Reply { return llmtest.Body(200, "text/event-stream", event+"\n\n") }
	reply := func(body string) llmtest.Reply { return llmtest.Body(200, "application/json", body) }
	for name, hostile := range map[string]llmtest.Reply{
		"choices":               reply(fill(`{"choices":[{}`, `,{}`, `]}`)),
		"parts of a choice":     reply(fill(`{"choices":[{"message":{"tool_calls":[{}`, `,{}`, `]}}]}`)),
		"an error":              reply(fill(`{"error":[{}`, `,{}`, `]}`)),
		"an event":              events(fill(`data: {"choices":[{}`, `,{}`, `]}`)),
		"an event of many data": events(fill("", "data: {},\n", "")),
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t, hostile.Always())
			g := newGenerator(t, configFor(server.URL, object{"prompt": "p"}))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := g.Generate(t.Context(), &sdk.GenerateRequest{Emit: func(string) {}})
			runtime.ReadMemStats(&after)
			sdkError(t, err)
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 160 {
				t.Errorf("%d MiB were allocated", used)
			} else {
				t.Logf("%d MiB", used)
			}
		})
	}
}
