package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/workflow"
	"github.com/reflectory/reflectory/plugins/llm-eval/llmtest"
)

// showing is a workflow that shows a model a picture.
const showing = `settings: {llm: {%s, model: scripted}}
nodes:
  - name: look
    action: llm.call
    with:
      messages:
        - role: user
          content: [{type: text, text: "What is this?"}, {type: image, file: large.png}]
`

// largest is the content of the largest picture.
func largest() []byte {
	return bytes.Repeat([]byte("0123456789abcdef\n\x00\xff<>&"), workflow.MaxMessageFiles/22+1)[:workflow.MaxMessageFiles]
}

// TestFiles_OfTheLargestSizeReachTheModel whole, in each protocol, and the run has the picture's size, not
// the picture, among its prompts. A byte more is refused before anything is asked.
func TestFiles_OfTheLargestSizeReachTheModel(t *testing.T) {
	coretest.Long(t)
	w := newWorld(t)
	picture := largest()
	w.file("large.png", string(picture))
	var run string
	encoded := []byte(base64.StdEncoding.EncodeToString(picture))
	for path, llm := range map[string]string{
		llmtest.PathChat:      `provider: openai, base_url: "%s/v1"`,
		llmtest.PathResponses: `provider: openai, api: responses, base_url: "%s/v1"`,
		llmtest.PathMessages:  `provider: anthropic, base_url: "%s"`,
		llmtest.PathOllama:    `provider: ollama, base_url: "%s"`,
	} {
		server := llmtest.New(t, llmtest.Text("a pattern"))
		w.allow(server)
		run = decoded[operation.RunSummary](w, exitPassed, "run", w.file("w.yaml", fmt.Sprintf(showing, fmt.Sprintf(llm, server.URL)))).RunID
		asked := server.Requests()
		if len(asked) != 1 || asked[0].Path != path || bytes.Count(asked[0].Body, encoded) != 1 {
			t.Errorf("%s: %d requests were made, and the first doesn't have the picture", path, len(asked))
		}
	}
	shown, _ := w.ok("runs", "show", run, "--json")
	if want := fmt.Sprintf("[image large.png image/png, %d bytes]", len(picture)); !strings.Contains(shown, want) {
		t.Errorf("the run doesn't show %q: %.2000s", want, shown)
	}
	if err := os.Truncate(filepath.Join(w.dir, "large.png"), workflow.MaxMessageFiles+1); err != nil {
		t.Fatal(err)
	}
	for _, verb := range [][]string{{"run"}, {"workflow", "check"}} {
		code, _, errs := w.run(t.Context(), append(verb, filepath.Join(w.dir, "w.yaml"))...)
		if code == exitPassed || !strings.Contains(errs, "large.png has more than 20971520 bytes") || !strings.Contains(errs, "make the picture or the file smaller") {
			t.Errorf("%v: exit %d: %s", verb, code, errs)
		}
	}
}

// TestFiles_OfRunsAtOnce: all of them end, one of them as a job, and no instance of the plugin ends
// for want of memory.
func TestFiles_OfRunsAtOnce(t *testing.T) {
	coretest.Long(t)
	w := newWorld(t)
	server := llmtest.New(t, llmtest.Text("a pattern").Always())
	w.allow(server)
	w.file("large.png", string(largest()))
	file := w.file("w.yaml", fmt.Sprintf(showing, fmt.Sprintf(`provider: openai, base_url: "%s/v1"`, server.URL)))
	at := w.serve()
	const runs = 3
	var all sync.WaitGroup
	for n := range runs {
		all.Go(func() {
			args := []string{"run", file, "--json"}
			if n == 0 {
				args = append(args, "--detach")
			}
			code, out, errs := w.run(t.Context(), args...)
			var queued operation.JobQueued
			if err := json.Unmarshal([]byte(out), &queued); code != exitPassed || err != nil {
				t.Errorf("exit %d, %v: %s%s", code, err, out, errs)
			} else if n == 0 {
				if status, result := at.get("/v1/jobs/" + queued.JobID + "/result?wait=60"); !strings.Contains(result, `"passed"`) {
					t.Errorf("the job's result is %d %.500s", status, result)
				}
			}
		})
	}
	all.Wait()
	if asked := len(server.Requests()); asked != runs {
		t.Errorf("the model was asked %d times, want %d", asked, runs)
	}
	status, _ := w.ok("plugin", "list", "--json")
	if !strings.Contains(status, `"exits": 0`) || regexp.MustCompile(`"(exits|kills)": [1-9]`).MatchString(status) {
		t.Errorf("an instance ended: %s", status)
	}
	if code := at.stop(); code != 0 {
		t.Errorf("the server ended with %d", code)
	}
}
