package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/gate/verdict"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/core/job"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/install"
	"github.com/reflectory/reflectory/core/plugin/logfile"
	"github.com/reflectory/reflectory/core/policypoint"
)

// longest is a line of a size in bytes, of hostile texts that a name or a content may have.
func longest(bytes int) string {
	part := strings.ReplaceAll(printable(), "\n", " ")
	return strings.TrimSpace(strings.ToValidUTF8(strings.Repeat(part, bytes/len(part)+1)[:bytes], ""))
}

// word is longest with an ending that tells it from others.
func word(bytes, n int) string {
	end := string(rune('a'+n/26)) + string(rune('a'+n%26))
	return longest(bytes-2) + end
}

// marks is a word without invisible characters, which some fields don't take.
func marks(bytes, n int) string {
	return strings.Repeat(`<a href='javascript:alert(1)'>&"`, bytes/32+1)[:bytes-2] + word(4, n)[2:]
}

const (
	line1MB, line8MB, wordBytes = 1 << 20, 8<<20 - 200, 128
)

// longestSpace is a namespace with as many segments and characters as one may have, and longestID
// an id or a session's name.
var (
	longestSpace = strings.Repeat(`a<b>&"'c/`, 8)[:len(`a<b>&"'c/`)*8-1] + strings.Repeat("<&", 220)
	longestID    = strings.Repeat("id_", 42)
)

// longestSite is a site on which every field that a model, a plugin or a user writes is hostile and as long as
// its operation takes, in as many things as a page lists; and the addresses of all its pages.
func longestSite(t *testing.T) (*site, []string) {
	t.Helper()
	w := operationtest.New(t)
	file := longest(60)
	for _, r := range `/\"` {
		file = strings.ReplaceAll(file, string(r), "_")
	}
	w.File("data/policies/access/"+file+".yaml", "rule:\n  id: "+strings.Repeat("i", 128)+"\n  match:\n    - condition: subject.startsWith('nobody')\n      output: >\n        {\"allow\": false, \"code\": \"no\", \"reason\": subject+'"+strings.Repeat("<i>&", 3000)+"'}\n")
	w.Reopen()
	s := siteOf(w)
	s.Ctx = core.WithCaller(s.Ctx, core.Operator(longest(wordBytes)))
	memories := s.longestMemories()
	paths := s.longestTurns(memories)
	paths = append(paths, s.longestWork()...)
	paths = append(paths, s.longestPlugin())
	s.longestTokens()
	for range many { // refusals, which are recorded
		_, err := s.Do(core.Caller{Subject: "nobody" + longest(wordBytes-6), Scopes: core.Scopes(), Namespaces: []string{"**"}}, "memory_list", &operation.MemoryList{Namespace: longestSpace})
		if err == nil {
			t.Fatal("nobody may look")
		}
	}
	s.Reopen() // decisions are recorded in the background
	again := siteOf(s.World)
	list := operationtest.Try[operation.Page[operation.Decided]](s.World, "decision_list", &operation.DecisionList{Point: policypoint.Access})
	space := url.QueryEscape(longestSpace)
	for _, id := range memories[:3] {
		paths = append(paths, memoryURL(id))
	}
	return again, append(paths, "/", "/runs", "/memory", "/memory?namespace="+space, "/memory?q=harbour&namespace="+space, "/approvals", "/knowledge?namespace="+space,
		"/decisions", "/decisions?point=access", decisionURL(list.Items[0].ID), "/policies", "/jobs", "/dream?namespace="+space, "/dream/conflicts?namespace="+space,
		"/snapshots?namespace="+space, "/sessions", "/sessions/"+longestID, "/audit", "/audit/entries?stream="+url.QueryEscape("namespace/"+longestSpace), "/audit/entries?stream=access",
		"/audit/entries?stream="+url.QueryEscape("session/"+longestID), "/search?q="+url.QueryEscape(longest(2000)), "/settings", governanceURL(longestSpace), "/plugins",
	)
}

// longestMemories are the ids of memories, one of them promoted, and of reflections that wait.
func (s *site) longestMemories() (ids []string) {
	s.T.Helper()
	for i := range many {
		in := &core.ObserveRequest{
			ID: longestID[:122] + word(2, i), Namespace: longestSpace, Title: "The harbour closes at noon " + longest(600), Content: longest(400),
			Attributes: core.Attributes{Metadata: jsontext.MustEncode(map[string]string{longest(100): longest(60_000)}), AgentID: word(wordBytes, i)},
		}
		in.Title = string([]rune(in.Title)[:min(memory.MaxTitleRunes, len([]rune(in.Title)))])
		if i < 4 {
			in.Content = "It was seen yesterday. " + longest(memory.MaxContentBytes-40)
		}
		for j := range memory.MaxTags {
			in.Tags = append(in.Tags, word(wordBytes, j))
		}
		in.Tags[0] = "tag-" + in.ID
		m, err := s.Host.Memories.Observe(s.Ctx, in)
		s.Must(err)
		ids = append(ids, m.ID)
		s.clock().Advance(time.Second)
	}
	_, err := s.Host.Governance.Set(s.Ctx, longestSpace, "require_approval_above_depth=0")
	s.Must(err)
	for i := range many {
		_, err := s.Host.Memories.Reflect(s.Ctx, &core.ReflectRequest{SourceIDs: ids[:2], Namespace: longestSpace, Title: word(500, i), Content: longest(memory.MaxContentBytes), Attributes: core.Attributes{AgentID: longest(wordBytes)}})
		s.Must(err)
	}
	_, err = s.Host.Memories.Reject(s.Ctx, s.waits(), longest(1024))
	s.Must(err)
	return ids
}

// waits is the id of a reflection that waits.
func (s *site) waits() string {
	s.T.Helper()
	return operationtest.Try[operation.Page[*memory.Pending]](s.World, "memory_pending", &operation.MemoryPending{}).Items[0].ID
}

// longestTurns are the pages of a session with notes and snapshots, of a promotion, and of a plan.
func (s *site) longestTurns(memories []string) (paths []string) {
	s.T.Helper()
	paths = append(paths, "/approvals/"+s.waits()+"/reject")
	for i := range 8 { // of two sessions, so that it may be promoted
		session := longestID[i%2:]
		recalled, err := s.Host.Memories.Recall(s.Ctx, &core.RecallRequest{
			Session: session, Query: "harbour " + longest(60_000), RecallFilter: core.RecallFilter{Namespace: longestSpace, Tags: []string{"tag-" + memories[0]}},
		})
		s.Must(err)
		_, err = s.Host.Memories.Feedback(s.Ctx, &core.FeedbackRequest{
			Session: session, Turn: recalled.Turn, Outcome: core.OutcomeSuccess, Used: memories[:1], CorrectiveAction: longest(1900), NextTurnHint: longest(1900), Summary: longest(1900),
			ToolOutcomes: []core.ToolOutcome{{MemoryID: memories[0], Session: session, Turn: recalled.Turn, Tool: marks(64, i), OK: true, Ref: marks(64, i)}},
		})
		s.Must(err)
	}
	graph := s.Graph(memories[0])
	_, err := s.Host.Evidence.RecordDAG(s.Ctx, &graph)
	s.Must(err)
	decided, err := s.Host.Memories.Gate.Revalidate(s.Ctx, memories[0], memory.RevalidateRequest{Omega: policypoint.OmegaFactors{UpstreamStatus: new(1.0)}})
	s.Must(err)
	if decided.NextAction != verdict.NextPromote {
		s.T.Fatalf("the gate says %s: %s", decided.Verdict, decided.Reason)
	}
	promoted, err := s.Host.Memories.Get(s.Ctx, memories[0])
	s.Must(err)
	paths = append(paths, knowledgeURL(promoted.PromotedTo))
	for i := range many {
		blocks := 1
		if i < 2 {
			blocks = 8
		}
		in := &inject.BuildRequest{Namespace: longestSpace, Session: longestID, Turn: int64(100 + i), Query: "harbour"}
		for j := range blocks {
			d := inject.Draft{BlockID: marks(inject.MaxBlockID, j), Category: inject.Knowledge, Priority: new(j), Payload: longest(4000), Source: marks(inject.MaxBlockID, j)}
			if i == 0 {
				d.Payload = longest(inject.MaxPayloadBytes)
			}
			for k := range inject.MaxLabels {
				d.Tags, d.TraceRefs = append(d.Tags, marks(inject.MaxBlockID, k)), append(d.TraceRefs, marks(inject.MaxBlockID, k))
			}
			in.Blocks = append(in.Blocks, d)
		}
		built := operationtest.Try[inject.Built](s.World, "snapshot_build", in)
		if i < 2 {
			paths = append(paths, "/snapshots/"+built.SnapshotID, "/snapshots/"+built.SnapshotID+"?replay=1")
		}
		if i == 1 {
			paths = append(paths, "/snapshots/"+built.SnapshotID+"/diff")
		}
	}
	d, err := s.Host.Memories.Dreams.Plan(s.Ctx, memory.DreamRequest{Namespace: longestSpace, Agent: word(wordBytes, 0)})
	s.Must(err)
	paths = append(paths, "/dream/"+d.ID)
	d, err = s.Host.Memories.Dreams.Plan(s.Ctx, memory.DreamRequest{Namespace: longestSpace})
	s.Must(err)
	_, err = s.Host.Memories.Dreams.Apply(s.Ctx, d.ID, nil)
	s.Must(err)
	return append(paths, "/dream/"+d.ID, "/dream/"+d.ID+"/undo")
}

// longestWork are the pages of runs and of jobs, whose payloads, results, reasons and messages are as long as can be.
func (s *site) longestWork() (paths []string) {
	s.T.Helper()
	r := s.hostileRun(4, core.StatusError)
	at := "/runs/" + r.ID
	paths = append(paths, at, at+"?to=2", at+"?from=1&to=4&view=unified", at+"?all=events")
	for i := range many {
		r := s.begin(word(4000, i))
		if i%2 == 0 {
			r.Error = &core.ErrorInfo{Code: longest(200), Message: longest(line1MB / (i + 1)), Hint: longest(4000)}
			s.end(r, core.StatusError)
			continue
		}
		s.end(r, core.StatusPassed)
	}
	user := strings.Repeat("user.", 25)
	enqueue := func(of job.Type, payload []byte) {
		made, err := s.Host.Jobs.Enqueue(s.Ctx, &job.Request{UserID: user, Namespace: longestSpace, Type: of, Payload: payload, IdempotencyKey: s.Host.Config.IDs.NewID()})
		s.Must(err)
		paths = append(paths, jobURL(made.ID))
	}
	enqueue(job.Workflow, jsontext.MustEncode(map[string]string{"operation": "run_start", "request": strings.Repeat("<", line1MB)}))
	enqueue(job.Reembed, nil)
	enqueue(job.Compact, nil)
	pool, err := s.Host.Workers.NewPool(map[job.Type]job.Handler{
		job.Reembed: job.HandlerFunc(func(context.Context, *job.Running) (*job.Outcome, error) {
			return &job.Outcome{Result: jsontext.MustEncode(strings.Repeat("&", line8MB))}, nil
		}),
		job.Compact:  job.HandlerFunc(func(context.Context, *job.Running) (*job.Outcome, error) { return nil, errors.New(longest(line1MB)) }),
		job.Workflow: job.HandlerFunc(func(context.Context, *job.Running) (*job.Outcome, error) { return nil, errors.New(longest(line1MB)) }),
	})
	s.Must(err)
	_, err = pool.RunUntilIdle(s.Ctx)
	s.Must(err)
	last := paths
	for range many {
		enqueue(job.Workflow, []byte(`{}`))
	}
	return last
}

// longestPlugin is the page of a plugin that says and logs much.
func (s *site) longestPlugin() string {
	s.T.Helper()
	name := "acme/" + strings.Repeat("long", 15)
	s.install(name, "0.0.1", "[log, cache]")
	s.File("plugins/"+name+"/"+install.PackageFile+".txt", "")
	logs := logfile.New(logfile.Options{Dir: host.PluginLogDir(s.Config.Settings)})
	for i := range 200 {
		s.Must(logs.Write(plugin.LogLine{Time: s.clock().Now(), Level: longest(200), Plugin: name, RunID: longestID, Message: word(8000, i), Fields: map[string]any{longest(100): longest(1000)}}))
	}
	s.Must(logs.Write(plugin.LogLine{Time: s.clock().Now(), Level: "error", Plugin: name, Message: longest(line1MB)}))
	s.Must(logs.Close())
	return "/plugins/" + filepath.ToSlash(name)
}

// longestTokens makes as many tokens as a page lists.
func (s *site) longestTokens() {
	s.T.Helper()
	var spaces []string
	for i := range core.MaxCallerNamespaces {
		spaces = append(spaces, longestSpace[:len(longestSpace)-2]+string(rune('a'+i/26))+string(rune('a'+i%26)))
	}
	for i := range many {
		_, err := s.Host.Access.Issue(s.Ctx, access.Request{Subject: word(wordBytes, i), Label: longest(access.MaxLabel), Scopes: core.Scopes(), Namespaces: spaces})
		s.Must(err)
	}
}

// TestPages_LongestTexts: whatever a model, a plugin or a user writes into any field, each page of it is text, and
// no larger than a page may be.
func TestPages_LongestTexts(t *testing.T) {
	if coretest.Plain(t) {
		return
	}
	s, paths := longestSite(t)
	for i := 0; i < len(paths); i += coretest.Cases(5, 1) {
		path := paths[i]
		a := s.get(path)
		if a.StatusCode != http.StatusOK {
			t.Errorf("%.200s: %d %.500s", path, a.StatusCode, a.body)
			continue
		}
		root := s.tree(a, http.StatusOK)
		s.wellMade(path, a, root)
		named := strings.HasSuffix(path, "/plugins") || strings.HasSuffix(path, "/undo") || strings.Contains(path, "stream=session") // by ids alone
		if !named && !strings.Contains(a.body, "alert(1)") && !strings.Contains(a.body, "a&lt;b&gt;") {
			t.Errorf("%.200s has none of the texts", path)
		}
	}
}
