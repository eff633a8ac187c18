// Command agent-turns is an agent of a parcel service that has a conversation of two
// sessions, of 25 turns each, with a Reflectory server over HTTP. What it knows is what is in
// the prompt that the server builds for the turn, so its second session is better than its
// first: what it was corrected on is remembered.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

func main() {
	url := flag.String("url", "http://127.0.0.1:7842", "where the server is")
	tokenFile := flag.String("token-file", "", "the file with a token, such as operator.token in the data folder")
	namespace := flag.String("namespace", "examples/parcels", "where the agent remembers")
	flag.Parse()
	token, err := os.ReadFile(*tokenFile)
	if err == nil {
		a := agent{url: *url, token: strings.TrimSpace(string(token)), namespace: *namespace}
		err = a.work(context.Background(), os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// agent works with the memories of a namespace.
type agent struct{ url, token, namespace string }

// turnsOfSession is how many parcels arrive in a session.
const turnsOfSession = 25

// work has two sessions, and prints how they went.
func (a agent) work(ctx context.Context, out io.Writer) error {
	for _, session := range []string{"monday", "tuesday"} {
		solved, reused, last := 0, 0, prompt{}
		for n := range turnsOfSession {
			p, ok, err := a.turn(ctx, session, parcel(n))
			if err != nil {
				return fmt.Errorf("session %s, turn %d: %w", session, n+1, err)
			}
			if ok {
				solved++
			}
			if p.Prefix.Reused {
				reused++
			}
			last = p
		}
		fmt.Fprintf(out, "%s: %d of %d parcels right, prefix reused in %d turns, last snapshot %s\n", session, solved, turnsOfSession, reused, last.ID)
	}
	return nil
}

// prompt is the snapshot of a turn, as far as the agent needs it.
type prompt struct {
	ID     string `json:"snapshot_id"`
	Turn   int64  `json:"turn_id"`
	Text   string `json:"prompt"`
	Blocks []struct {
		MemoryID string `json:"memory_id"`
		Payload  string `json:"payload"`
	} `json:"blocks_used"`
	Prefix struct {
		Reused bool `json:"reused"`
	} `json:"prefix"`
}

// turn answers one question: the prompt is built, the model answers by it, the service
// judges the answer, and the feedback says how it went.
func (a agent) turn(ctx context.Context, session string, t task) (p prompt, ok bool, err error) {
	err = a.post(ctx, "/v1/snapshots", map[string]any{
		"session": session, "namespace": a.namespace, "query": t.question,
		"policy": map[string]any{"ordering_strategy": "stable_prefix"},
		"blocks": []any{
			map[string]any{"block_id": "instructions", "category": "policy", "priority": 900, "anchor": true, "stable": true, "payload": instructions},
			map[string]any{"block_id": "question", "category": "workflow", "priority": 100, "payload": t.question},
		},
	}, &p)
	if err != nil {
		return p, false, err
	}
	answer := model(p.Text, t)
	correction := t.judge(answer)
	feedback := map[string]any{
		"session": session, "turn": p.Turn, "outcome": "success", "source": "tool", "used": used(p, answer),
		"summary": fmt.Sprintf("Asked %q and answered %q. %s", t.question, answer, strings.Repeat("The parcel was weighed, labelled and put on its shelf. ", 3)),
	}
	if correction != "" {
		feedback["outcome"], feedback["failure_class"], feedback["next_turn_hint"] = "failure", "wrong_answer", correction
		learned := map[string]any{"namespace": a.namespace, "content": correction, "tags": []string{"correction"}}
		if err := a.post(ctx, "/v1/memories", learned, nil); err != nil {
			return p, false, err
		}
	}
	return p, correction == "", a.post(ctx, "/v1/feedback", feedback, nil)
}

// used are the memories of the prompt that have the answer.
func used(p prompt, answer string) []string {
	ids := []string{}
	for _, b := range p.Blocks {
		if b.MemoryID != "" && strings.Contains(b.Payload, "say "+answer+".") {
			ids = append(ids, b.MemoryID)
		}
	}
	return ids
}

// post calls the server, and decodes its answer into out unless that is nil.
func (a agent) post(ctx context.Context, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+a.token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode >= http.StatusMultipleChoices {
		return errors.New(answer.Status + ": " + string(text))
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}
