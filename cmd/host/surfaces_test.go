package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/cmd/host/internal/cli"
	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/coretest"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/inject"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/policypoint"
)

func TestMain(m *testing.M) {
	operationtest.ServeJudge()
	os.Exit(coretest.WithPlain(m).Run())
}

// surface is a way to ask for operations.
type surface struct {
	// ask gives the answer to a case's request in its world: in JSON, the result or the
	// error. said is whether the surface can make the request at all.
	ask func(w *operationtest.World, c operationtest.Case, in any) (answer string, said bool)
	// caller is the one that the surface has.
	caller core.Caller
	// differs says how an answer differs from a Go program's; "" means that it doesn't. Nil
	// compares bytes.
	differs func(key, got, want string) string
}

// surfaces are what a Go program's answers are compared with.
var surfaces = map[string]surface{
	"cli":        {ask: askCLI, caller: core.Operator(operationtest.Agent)},
	"cli served": {ask: askServedCLI, caller: core.Operator(operationtest.Agent)},
	"socket":     {ask: askSocket, caller: core.Operator(operationtest.Agent)},
	"http":       {ask: askHTTP, caller: core.Operator(core.OperatorSubject), differs: differsOverHTTP},
}

// seesItself is why a server's hosts aren't a Go program's.
const seesItself = "a server is a host itself, and sees which others live"

// inUse is why a server imports nothing.
const inUse = "an import takes the place of the store, which the server has open"

// calls are the words of a surface for what it recommends.
var calls = regexp.MustCompile(`,"call":"(\\.|[^"\\])*"`)

// unsaidKey is the name of what keeps a surface from the answer of a Go program, in unsaid;
// "" is nothing.
func unsaidKey(name string, c operationtest.Case) string {
	keys := []string{name + " " + c.String()}
	if name != "cli" {
		keys = append(keys, "served "+c.String())
	}
	if name == "cli served" {
		keys = append(keys, "cli "+c.String())
	}
	for _, key := range keys {
		if unsaid[key] != "" {
			return key
		}
	}
	return ""
}

// unsaid are the requests that a surface can't make, or is answered differently, with the
// reason. Those of cli are the same if a server has the store, and those of served are of
// every surface of a server.
var unsaid = map[string]string{
	"served host_drain":                           seesItself,
	"served host_list":                            seesItself,
	"served job_list":                             "a server works on jobs, and a Go program says that nobody does",
	"served login_new":                            "the link is to the server itself",
	"served status":                               "it says how the server itself is reached",
	"served status/in a folder":                   "a server has the store, and is named as its holder",
	"served store_import/a namespace":             inUse,
	"served store_import/broken":                  inUse,
	"served store_import/everything":              inUse,
	"served store_import/namespace there":         inUse,
	"served store_import/not empty":               inUse,
	"cli audit_verify_segment":                    "it is part of audit verify",
	"cli audit_verify_segment/denied by a policy": "it is part of audit verify",
	"cli correct/no output":                       "OUTPUT is an argument",
	"cli dream_calibrate/no text":                 "the pairs are in a file",
	"cli gate_request/no erase":                   "--erase must be there",
	"cli job_enqueue":                             "the commands that it stands for wait for what they do",
	"cli job_enqueue/denied by a policy":          "the commands that it stands for wait for what they do",
	"cli job_enqueue/namespace":                   "the commands that it stands for wait for what they do",
	"cli job_enqueue/type":                        "the commands that it stands for wait for what they do",
	"cli job_get/another user's":                  "an operator names a job by its id alone",
	"cli job_result":                              "jobs show has it",
	"cli job_result/another user's":               "jobs show has it",
	"cli job_result/denied by a policy":           "jobs show has it",
	"cli job_result/no id":                        "jobs show has it",
	"cli job_result/nothing":                      "jobs show has it",
	"cli memory_observe_all/denied by a policy":   "a file is stored in batches, and the message says how far it came",
	"cli memory_observe_all/item":                 "a file is stored in batches, and the message says how far it came",
	"cli reflection_cancel":                       "jobs cancel does it",
	"cli reflection_cancel/denied by a policy":    "jobs cancel does it",
	"cli reflection_status":                       "reflect --wait asks for it, and jobs show has it",
	"cli reflection_status/denied by a policy":    "reflect --wait asks for it, and jobs show has it",
	"cli run_attempts":                            "runs show has them",
	"cli run_attempts/denied by a policy":         "runs show has them",
	"cli store_import":                            "FILE is an argument",
	"cli store_import/nothing":                    "FILE is an argument",
}

// TestSurfacesSayTheSame makes each case's request in identical worlds, by a Go
// program and by every other surface: the answers are the same bytes. What becomes of each
// case is in testdata/surfaces.golden.
func TestSurfacesSayTheSame(t *testing.T) {
	coretest.Long(t)
	if coretest.Plain(t) {
		return
	}
	cases := operationtest.Cases()
	operationtest.Table(t)
	met := map[string]bool{}
	var golden strings.Builder
	for _, c := range cases {
		c.Make = withToken(c.Make)
		t.Run(c.String(), func(t *testing.T) {
			world, wants := c.Worlds(t), map[string]string{} // what Go programs are answered, by the label of the caller
			for _, name := range slices.Sorted(maps.Keys(surfaces)) {
				surface, key := surfaces[name], name+" "+c.String()
				if name == "http" && asJobs[c.Operation] || name == "socket" && os.Getenv("REFLECTORY_STRESS") != "1" { // a served command asks over it too
					continue
				}
				t.Run(name, func(t *testing.T) {
					want, asked := wants[surface.caller.Label]
					if !asked {
						w, in := world(t)
						want = operationtest.AskAs(w, surface.caller, c.Operation, in)
						wants[surface.caller.Label] = want
					}
					if name == "cli" { // as it is for the others
						fmt.Fprintf(&golden, "%s: %s\n", key, outcome(t, want))
					}
					w, in := world(t)
					got, said := surface.ask(w, c, in)
					differs := surface.differs
					if differs == nil {
						differs = differsInBytes
					}
					if reason := unsaidKey(name, c); reason != "" {
						if met[reason] = true; said && differs(reason, got, want) == "" {
							t.Errorf("it is answered alike, though %s", unsaid[reason])
						}
						return
					}
					if !said {
						t.Fatal("the surface has nothing to make the request with")
					}
					got = calls.ReplaceAllString(got, "") // each surface spells a call in its own words
					if how := differs(key, got, want); how != "" {
						t.Errorf("%T: it answers\n%s\nand a Go program is answered\n%s\n%s", in, got, want, how)
					}
				})
			}
		})
	}
	for key := range unsaid {
		if !met[key] {
			t.Errorf("there is no case %s", key)
		}
	}
	coretest.Golden(t, "surfaces.golden", golden.String())
}

// withToken puts the operator's token into the world of a request first: otherwise a
// server's start would write it, and the worlds would no longer be identical.
func withToken(make func(*operationtest.World) any) func(*operationtest.World) any {
	return func(w *operationtest.World) any {
		w.T.Helper()
		w.Must(os.MkdirAll(w.Flags()["data-dir"], 0o700))
		_, err := w.Host.Access.EnsureOperatorToken(w.Ctx)
		w.Must(err)
		return make(w)
	}
}

// outcome is the code of an answer's error, or that there is none.
func outcome(t *testing.T, answer string) string {
	t.Helper()
	var a struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(answer), &a); err != nil {
		t.Fatal(err)
	}
	return cmp.Or(a.Error.Code, "ok")
}

// askCLI runs the command line of a request, with --json.
func askCLI(w *operationtest.World, c operationtest.Case, in any) (string, bool) {
	w.T.Helper()
	make := commandLines[c.Operation]
	if make == nil {
		return "", false
	}
	line := args(make(w, in))
	if line == nil {
		return "", false
	}
	flags, env := w.Flags(), map[string]string{}
	if line[0] == "dream" { // its flag of that name says whose memories
		env["REFLECTORY_AGENT"] = flags["agent"]
		delete(flags, "agent")
	}
	for name, value := range flags {
		line = append(line, "--"+name, value)
	}
	w.T.(*testing.T).Chdir(w.Folder)
	var out, errs bytes.Buffer
	app := &cli.App{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(name string) string { return env[name] }, Base: w.Config}
	code := app.Run(w.T.Context(), append(line, "--json"))
	if out.Len() == 0 {
		w.T.Fatalf("%q: exit %d: %s", line, code, errs.String())
	}
	var answer bytes.Buffer
	w.Must(json.Compact(&answer, out.Bytes()))
	return answer.String(), true
}

// args are the words of a command line.
type args []string

// flag adds a flag with each of its values that isn't empty.
func (a args) flag(name string, values ...string) args {
	for _, v := range values {
		if v != "" {
			a = append(a, "--"+name, v)
		}
	}
	return a
}

// is adds a flag that is on.
func (a args) is(name string, on bool) args {
	if on {
		a = append(a, "--"+name)
	}
	return a
}

// num adds a flag that isn't 0.
func (a args) num(name string, n int) args {
	if n != 0 {
		a = append(a, fmt.Sprintf("--%s=%d", name, n))
	}
	return a
}

// page adds the flags of a list.
func (a args) page(p operation.Paging) args {
	return a.num("limit", p.Limit).flag("page-token", p.PageToken)
}

// factors adds what is known of a memory.
func (a args) factors(f policypoint.OmegaFactors, notes []string) args {
	a = set(a, "upstream-status", f.UpstreamStatus)
	a = set(a, "codebase-verification", f.CodebaseVerification)
	return set(a, "runtime-utility-trend", f.RuntimeUtilityTrend).flag("note", notes...)
}

// set adds a flag that is given.
func set[T any](a args, name string, value *T) args {
	if value != nil {
		a = append(a, fmt.Sprintf("--%s=%v", name, *value))
	}
	return a
}

// words are texts of a named kind.
func words[T ~string](list []T) []string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = string(v)
	}
	return texts
}

// on is the command line of an operation's requests.
func on[In any](line func(*operationtest.World, *In) args) func(*operationtest.World, any) args {
	return func(w *operationtest.World, in any) args { return line(w, in.(*In)) }
}

// commandLines have the command line of each operation's requests.
var commandLines = map[string]func(*operationtest.World, any) args{
	"audit_entries": on(func(_ *operationtest.World, in *operation.AuditEntries) args {
		return args{"audit", "show", in.Stream}.num("from", int(in.From)).page(in.Paging)
	}),
	"audit_head": on(func(*operationtest.World, *operation.AuditHead) args { return args{"audit", "head"} }),
	"audit_streams": on(func(_ *operationtest.World, in *operation.AuditStreams) args {
		return args{"audit", "show"}.page(in.Paging)
	}),
	"audit_verify": on(func(_ *operationtest.World, in *operation.AuditVerify) args {
		return set(args{"audit", "verify"}, "head", in.Head)
	}),
	"correct": on(func(w *operationtest.World, in *operation.Correct) args {
		w.File("corrector.yaml", in.Corrector)
		w.File("output", string(in.Output))
		a := args{"correct", "--corrector", "corrector.yaml"}.flag("namespace", in.Namespace)
		if in.Errors != nil {
			w.File("errors.json", string(in.Errors))
			a = append(a, "--errors", "errors.json")
		}
		return append(a, "output")
	}),
	"evaluate": on(func(w *operationtest.World, in *operation.Evaluate) args {
		w.File("evaluator.yaml", in.Evaluator)
		w.File("output", string(in.Output))
		a := args{"evaluate", "--evaluator", "evaluator.yaml"}.flag("namespace", in.Namespace)
		if in.State != nil {
			w.File("state.json", string(in.State))
			a = append(a, "--state-file", "state.json")
		}
		return append(a, "output")
	}),
	"evidence_dag": on(func(w *operationtest.World, in *operation.EvidenceDAG) args {
		return args{"evidence", "dag", "--file", w.File("evidence.json", string(jsontext.MustEncode(in)))}
	}),
	"evidence_omega": on(func(w *operationtest.World, in *operation.EvidenceOmega) args {
		return args{"evidence", "omega", "--file", w.File("evidence.json", string(jsontext.MustEncode(in)))}
	}),
	"evidence_tool": on(func(w *operationtest.World, in *operation.EvidenceTool) args {
		return args{"evidence", "tool", "--file", w.File("evidence.json", string(jsontext.MustEncode(in.Outcomes)))}
	}),
	"gate_explain": on(func(_ *operationtest.World, in *operation.GateExplain) args {
		return args{"gate", "explain", in.ID}.factors(in.OmegaFactors, in.Notes).is("now", in.Now)
	}),
	"gate_request": on(func(_ *operationtest.World, in *operation.GateRequest) args {
		return append(args{"gate", "request", in.ID}.is("erase", in.Erase), "--reason", in.Reason)
	}),
	"gate_run": on(func(_ *operationtest.World, in *operation.GateRun) args {
		return args{"gate", "run", in.ID}.factors(in.OmegaFactors, in.Notes).is("dry-run", in.DryRun)
	}),
	"governance_explain": on(func(_ *operationtest.World, in *operation.GovernanceExplain) args {
		return args{"governance", "explain", in.Namespace}
	}),
	"governance_get": on(func(_ *operationtest.World, in *operation.GovernanceGet) args {
		return args{"governance", "get", in.Namespace}
	}),
	"governance_set": on(func(_ *operationtest.World, in *operation.GovernanceSet) args {
		return append(args{"governance", "set", in.Namespace}, in.Assignments...)
	}),
	"governance_unset": on(func(_ *operationtest.World, in *operation.GovernanceUnset) args {
		return append(args{"governance", "unset", in.Namespace}, in.Fields...)
	}),
	"knowledge_get": on(func(_ *operationtest.World, in *operation.KnowledgeGet) args { return args{"knowledge", "get", in.ID} }),
	"reflection_enqueue": on(func(_ *operationtest.World, in *operation.ReflectionEnqueue) args {
		a := args{"reflect"}.flag("user", in.UserID).flag("namespace", in.Namespace).flag("focus", in.Focus).is("force", in.Force).is("dry-run", in.DryRun)
		if in.MaxInsights != 0 {
			a = append(a, fmt.Sprintf("--max-insights=%d", in.MaxInsights))
		}
		return a
	}),
	"job_cancel": on(func(_ *operationtest.World, in *operation.JobCancel) args { return args{"jobs", "cancel", in.ID} }),
	"job_get": on(func(_ *operationtest.World, in *operation.JobGet) args {
		if in.UserID != "" {
			return nil
		}
		return args{"jobs", "show", in.ID}
	}),
	"job_list": on(func(_ *operationtest.World, in *operation.JobList) args {
		return args{"jobs", "list"}.flag("type", string(in.Type)).flag("status", string(in.Status)).flag("user", in.UserID).
			flag("namespace", in.Namespace).is("subtree", in.Subtree).page(in.Paging)
	}),
	"decision_get": on(func(_ *operationtest.World, in *operation.DecisionGet) args { return args{"decisions", "show", in.ID} }),
	"decision_list": on(func(_ *operationtest.World, in *operation.DecisionList) args {
		return args{"decisions", "list"}.flag("point", string(in.Point)).flag("namespace", in.Namespace).is("subtree", in.Subtree).
			flag("outcome", in.Outcome).is("newest", in.Newest).page(in.Paging)
	}),
	"dream_dates": on(func(_ *operationtest.World, in *operation.DreamDates) args {
		return args{"dream", "dates", in.Text}.flag("at", in.At).is("keep-phrase", in.KeepPhrase).is("ranges", in.Ranges)
	}),
	"dream_apply": on(func(_ *operationtest.World, in *operation.DreamApply) args { return args{"dream", "apply", in.ID} }),
	"dream_conflicts": on(func(_ *operationtest.World, in *operation.DreamConflicts) args {
		return args{"dream", "conflicts", in.Namespace}.flag("agent", in.Agent).page(in.Paging)
	}),
	"dream_list": on(func(_ *operationtest.World, in *operation.DreamList) args {
		return args{"dream", "list", in.Namespace}.page(in.Paging)
	}),
	"dream_plan": on(func(_ *operationtest.World, in *operation.DreamPlan) args {
		return args{"dream", "plan", in.Namespace}.is("full", in.Full).flag("decay", in.Options.Decay)
	}),
	"dream_run": on(func(_ *operationtest.World, in *operation.DreamPass) args {
		return args{"dream", "run", in.Namespace}.flag("mode", string(in.Mode)).flag("decay", in.Options.Decay)
	}),
	"dream_show": on(func(_ *operationtest.World, in *operation.DreamShow) args { return args{"dream", "show", in.ID} }),
	"dream_undo": on(func(_ *operationtest.World, in *operation.DreamUndo) args {
		a := args{"dream", "undo", in.ID}
		if in.Step != 0 {
			a = a.flag("step", fmt.Sprint(in.Step))
		}
		return a
	}),
	"dream_compare": on(func(_ *operationtest.World, in *operation.DreamCompare) args {
		return args{"dream", "compare", in.A, in.B}
	}),
	"dream_calibrate": on(func(*operationtest.World, *operation.DreamCalibrate) args { return args{"dream", "calibrate"} }),
	"knowledge_supersede": on(func(_ *operationtest.World, in *operation.KnowledgeSupersede) args {
		return args{"knowledge", "supersede", in.ID, in.By}
	}),
	"memory_history": on(func(_ *operationtest.World, in *operation.MemoryHistory) args {
		return args{"memory", "history", in.ID}.page(in.Paging)
	}),
	"memory_lineage": on(func(_ *operationtest.World, in *operation.MemoryLineage) args {
		return args{"memory", "lineage", in.ID}.num("depth", in.Depth)
	}),
	"run_attempts_diff": on(func(_ *operationtest.World, in *operation.RunAttemptsDiff) args {
		return args{"runs", "diff", in.ID}.num("from", in.From).num("to", in.To).num("visit", in.Visit)
	}),
	"session_get": on(func(_ *operationtest.World, in *operation.SessionGet) args {
		return args{"session", "show", in.Session}.page(in.Paging)
	}),
	"session_list": on(func(_ *operationtest.World, in *operation.SessionList) args {
		return args{"session", "list"}.flag("namespace", in.Namespace).is("subtree", in.Subtree).flag("owner", in.Owner).
			flag("text", in.Text).page(in.Paging)
	}),
	"session_reset": on(func(_ *operationtest.World, in *operation.SessionReset) args {
		return args{"session", "reset", in.Session}
	}),
	"session_resume": on(func(_ *operationtest.World, in *operation.SessionResume) args {
		return args{"session", "resume", in.Session}.num("window", int(in.Window))
	}),
	"snapshot_build": on(func(w *operationtest.World, in *inject.BuildRequest) args {
		return args{"inject", "build", "--file", w.File("turn.json", string(jsontext.MustEncode(in)))}
	}),
	"snapshot_list": on(func(_ *operationtest.World, in *operation.SnapshotList) args {
		return args{"inject", "list"}.flag("namespace", in.Namespace).flag("session", in.Session).page(in.Paging)
	}),
	"snapshot_get": on(func(_ *operationtest.World, in *operation.SnapshotGet) args { return args{"inject", "show", in.ID} }),
	"snapshot_diff": on(func(_ *operationtest.World, in *operation.SnapshotDiff) args {
		return args{"inject", "diff", in.ID}.flag("with", in.With)
	}),
	"snapshot_replay": on(func(_ *operationtest.World, in *operation.SnapshotReplay) args {
		return args{"inject", "replay", in.ID}
	}),
	"discover": on(func(_ *operationtest.World, in *operation.Discover) args {
		return args{"discover", in.Intent}.flag("namespace", in.Namespace)
	}),
	"login_new":  on(func(*operationtest.World, *operation.LoginNew) args { return args{"open"} }),
	"host_list":  on(func(*operationtest.World, *operation.HostList) args { return args{"hosts", "list"} }),
	"host_drain": on(func(_ *operationtest.World, in *operation.HostDrain) args { return args{"hosts", "drain", in.ID} }),
	"token_list": on(func(_ *operationtest.World, in *operation.TokenList) args {
		return args{"token", "list"}.page(in.Paging)
	}),
	"token_new": on(func(_ *operationtest.World, in *operation.TokenNew) args {
		a := args{"token", "new", in.Subject}.flag("scope", words(in.Scopes)...).flag("namespace", in.Namespaces...).flag("label", in.Label)
		if in.ExpiresIn != 0 {
			a = a.flag("expires-in", fmt.Sprintf("%ds", in.ExpiresIn))
		}
		return a
	}),
	"token_operator": on(func(*operationtest.World, *operation.TokenOperator) args { return args{"token", "new", "--operator"} }),
	"token_revoke":   on(func(_ *operationtest.World, in *operation.TokenRevoke) args { return args{"token", "revoke", in.ID} }),
	"knowledge_list": on(func(_ *operationtest.World, in *operation.KnowledgeList) args {
		return args{"knowledge", "list"}.flag("namespace", in.Namespace).page(in.Paging)
	}),
	"knowledge_recall": on(func(_ *operationtest.World, in *memory.KnowledgeQuery) args {
		return args{"knowledge", "recall", in.Query}.flag("namespace", in.Namespace).is("subtree", in.Subtree).num("limit", in.Limit)
	}),
	"memory_approve": on(func(_ *operationtest.World, in *operation.MemoryApprove) args {
		return args{"memory", "approve", in.ID}
	}),
	"memory_explain": on(func(_ *operationtest.World, in *operation.MemoryExplain) args {
		return args{"memory", "explain", in.ID}
	}),
	"memory_feedback": on(func(_ *operationtest.World, in *core.FeedbackRequest) args {
		return args{"memory", "feedback"}.flag("session", in.Session).num("turn", int(in.Turn)).flag("outcome", string(in.Outcome)).
			flag("used", in.Used...).flag("source", in.Source).flag("failure-class", string(in.FailureClass)).
			flag("corrective-action", in.CorrectiveAction).flag("next-turn-hint", in.NextTurnHint).flag("summary", in.Summary)
	}),
	"memory_get": on(func(_ *operationtest.World, in *operation.MemoryGet) args { return args{"memory", "get", in.ID} }),
	"memory_link": on(func(_ *operationtest.World, in *memory.LinkRequest) args {
		return args{"memory", "link", in.From, in.Relation, in.To}.flag("metadata", string(in.Metadata))
	}),
	"memory_list": on(func(_ *operationtest.World, in *operation.MemoryList) args {
		return args{"memory", "list"}.flag("namespace", in.Namespace).is("subtree", in.Subtree).flag("kind", words(in.Kinds)...).
			flag("state", words(in.States)...).flag("tag", in.Tags...).flag("by", in.AgentID).page(in.Paging)
	}),
	"memory_namespaces": on(func(*operationtest.World, *operation.MemoryNamespaces) args { return args{"memory", "namespaces"} }),
	"memory_observe": on(func(_ *operationtest.World, in *core.ObserveRequest) args {
		a := args{"memory", "observe"}.flag("namespace", in.Namespace).flag("title", in.Title).flag("content", in.Content).flag("id", in.ID).
			flag("kind", string(in.Kind)).flag("tag", in.Tags...).flag("metadata", string(in.Metadata)).flag("occurred-at", in.OccurredAt)
		return set(set(set(a, "priority", in.Priority), "importance", in.Importance), "confidence", in.Confidence)
	}),
	"memory_observe_all": on(func(w *operationtest.World, in *operation.MemoryObserveAll) args {
		var lines strings.Builder
		for _, item := range in.Items {
			fmt.Fprintf(&lines, "%s\n", jsontext.MustEncode(item))
		}
		return args{"memory", "observe", "--file", w.File("memories.jsonl", lines.String())}
	}),
	"memory_pending": on(func(_ *operationtest.World, in *operation.MemoryPending) args {
		return args{"memory", "pending"}.flag("namespace", in.Namespace).page(in.Paging)
	}),
	"memory_recall": on(func(_ *operationtest.World, in *core.RecallRequest) args {
		a := args{"memory", "recall", in.Query}.flag("session", in.Session).num("turn", int(in.Turn)).num("limit", in.Limit).
			flag("namespace", in.Namespace).is("subtree", in.Subtree).flag("kind", words(in.Kinds)...).
			flag("state", words(in.States)...).flag("tag", in.Tags...).flag("by", in.AgentID).is("include-superseded", in.IncludeSuperseded)
		if in.MinScore != 0 {
			a = append(a, fmt.Sprintf("--min-score=%v", in.MinScore))
		}
		for name, at := range map[string]time.Time{"from": in.From, "to": in.To, "as-of": in.AsOf} {
			if !at.IsZero() {
				a = a.flag(name, at.Format(time.RFC3339))
			}
		}
		return set(a, "min-p", in.MinP)
	}),
	"memory_reembed": on(func(_ *operationtest.World, in *operation.MemoryReembed) args {
		return args{"memory", "reembed", in.Namespace}
	}),
	"memory_reflect": on(func(_ *operationtest.World, in *core.ReflectRequest) args {
		return set(args{"memory", "reflect"}.flag("source", in.SourceIDs...).flag("title", in.Title).flag("content", in.Content).
			flag("namespace", in.Namespace), "depth", in.Depth)
	}),
	"memory_reject": on(func(_ *operationtest.World, in *operation.MemoryReject) args {
		return args{"memory", "reject", in.ID}.flag("reason", in.Reason)
	}),
	"memory_restore": on(func(_ *operationtest.World, in *operation.MemoryRestore) args {
		return args{"memory", "restore", in.ID}
	}),
	"memory_sweep": on(func(_ *operationtest.World, in *operation.MemorySweep) args {
		return args{"memory", "sweep", in.Namespace}
	}),
	"plugin_get": on(func(_ *operationtest.World, in *operation.PluginGet) args { return args{"plugin", "inspect", in.Name} }),
	"plugin_list": on(func(_ *operationtest.World, in *operation.PluginList) args {
		return args{"plugin", "list"}.page(in.Paging)
	}),
	"plugin_logs": on(func(_ *operationtest.World, in *operation.PluginLogs) args {
		return args{"plugin", "logs", in.Name}.num("lines", in.Lines).flag("after", in.After)
	}),
	"plugin_push": on(func(*operationtest.World, *operation.PluginPush) args { return args{"plugin", "push"} }),
	"policy_list": on(func(*operationtest.World, *operation.PolicyList) args { return args{"policy", "list"} }),
	"policy_push": on(func(w *operationtest.World, in *operation.PolicyPush) args {
		for name, text := range in.Files {
			w.File("candidate/"+name, text)
		}
		return args{"policy", "push", "candidate"}
	}),
	"policy_replay": on(func(w *operationtest.World, in *operation.PolicyReplay) args {
		for name, text := range in.Files {
			w.File("candidate/"+name, text)
		}
		return args{"policy", "replay", "candidate"}
	}),
	"run_get": on(func(_ *operationtest.World, in *operation.RunGet) args { return args{"runs", "show", in.ID} }),
	"run_list": on(func(_ *operationtest.World, in *operation.RunList) args {
		return args{"runs", "list"}.flag("namespace", in.Namespace).is("subtree", in.Subtree).flag("status", string(in.Status)).
			flag("workflow", in.Workflow).page(in.Paging)
	}),
	"run_replay": on(func(w *operationtest.World, in *operation.RunReplay) args {
		a := args{"replay", in.ID}.flag("accept", in.Accept)
		if in.Evaluator != "" {
			w.File("evaluator.yaml", in.Evaluator)
			a = append(a, "--evaluator", "evaluator.yaml")
		}
		return a
	}),
	"run_resume": on(func(_ *operationtest.World, in *operation.RunResume) args { return args{"resume", in.ID} }),
	"run_start": on(func(w *operationtest.World, in *operation.RunStart) args {
		w.File("workflow.yaml", in.Workflow)
		a := args{"run", "workflow.yaml"}.flag("namespace", in.Namespace).flag("session", in.Session)
		if in.State != nil {
			w.File("state.json", string(in.State))
			a = append(a, "--state-file", "state.json")
		}
		for _, v := range in.Set {
			a = append(a, "--state", v.Path+"="+string(v.Value))
		}
		return a
	}),
	"status": on(func(*operationtest.World, *operation.StatusGet) args { return args{"status"} }),
	"stats": on(func(_ *operationtest.World, in *operation.StatsGet) args {
		return args{"stats"}.flag("scope", string(in.Scope)).flag("user", in.UserID).flag("namespace", in.Namespace).is("subtree", in.Subtree)
	}),
	"store_backup": on(func(_ *operationtest.World, in *operation.StoreBackup) args {
		return args{"store", "backup", in.Folder}.is("all", in.All)
	}),
	"store_check": on(func(_ *operationtest.World, in *operation.StoreCheck) args {
		return args{"store", "check"}.is("repair", in.Repair)
	}),
	"store_export": on(func(*operationtest.World, *operation.StoreExport) args {
		return args{"store", "export", "export.jsonl"}
	}),
	"store_import": on(func(w *operationtest.World, in *operation.StoreImport) args {
		a := args{"store", "import", w.File("import.jsonl", string(w.Body))}.is("replace", in.Replace)
		return a.is("into", len(in.Namespaces) > 0).flag("namespace", in.Namespaces...)
	}),
	"store_prune": on(func(_ *operationtest.World, in *operation.StorePrune) args {
		return args{"store", "prune"}.is("dry-run", in.DryRun).flag("out", in.Folder)
	}),
}
