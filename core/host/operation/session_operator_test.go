package operation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/run"
	"github.com/reflectory/reflectory/sdk"
)

// operating is a caller that reads memories and operates the host in these namespaces.
func operating(name string, namespaces ...string) core.Caller {
	return core.Caller{Subject: name, Scopes: []core.Scope{core.ScopeMemoryRead, core.ScopeRun, core.ScopeOperate}, Namespaces: namespaces}
}

// hadTurn makes a turn of a session, with feedback.
func hadTurn(w *world, c core.Caller, session, namespace, query string, f core.FeedbackRequest) *operation.Recalled {
	w.T.Helper()
	out, err := w.Do(c, "memory_recall", &core.RecallRequest{Session: session, Query: query, RecallFilter: core.RecallFilter{Namespace: namespace}})
	w.Must(err)
	recalled := out.(*operation.Recalled)
	f.Session, f.Turn = session, recalled.Turn
	_, err = w.Do(c, "memory_feedback", &f)
	w.Must(err)
	return recalled
}

// listedSessions are the names of the sessions on all pages of a list.
func listedSessions(w *world, c core.Caller, in operation.SessionList) (names []string) {
	w.T.Helper()
	for in.Limit = 2; ; {
		out, err := w.Do(c, "session_list", &in)
		w.Must(err)
		page := out.(*operation.Page[memory.Session])
		for _, s := range page.Items {
			names = append(names, s.Session)
		}
		if in.PageToken = page.NextPageToken; in.PageToken == "" {
			return names
		}
	}
}

// overseen is a world with sessions of three subjects in two tenants.
func overseen(t *testing.T) *world {
	w := newWorld(t)
	for session, at := range map[string][2]string{
		"mail-1": {"ann", "acme/mail"}, "mail-2": {"ann", "acme/mail/urgent"}, "Web-1": {"ben", "acme/web"}, "own": {"boss", "acme/web"}, "Far": {"eve", "other"},
	} {
		hadTurn(w, agent(at[0], "**"), session, at[1], "q", core.FeedbackRequest{Outcome: core.OutcomeSuccess})
	}
	return w
}

// TestSessionList_ShowsOperatorsTheSessionsOfTheirNamespaces, narrowed in every way, and everybody else
// only their own.
func TestSessionList_ShowsOperatorsTheSessionsOfTheirNamespaces(t *testing.T) {
	w := overseen(t)
	for _, test := range []struct {
		caller core.Caller
		in     operation.SessionList
		want   string
	}{
		{operating("boss", "**"), operation.SessionList{}, "Far Web-1 mail-1 mail-2 own"},
		{operating("boss", "**"), operation.SessionList{Owner: "ann"}, "mail-1 mail-2"},
		{operating("boss", "**"), operation.SessionList{Owner: "boss"}, "own"},
		{operating("boss", "**"), operation.SessionList{Owner: "nobody"}, ""},
		{operating("boss", "**"), operation.SessionList{Namespace: "acme/mail"}, "mail-1"},
		{operating("boss", "**"), operation.SessionList{Namespace: "acme/mail", Subtree: true}, "mail-1 mail-2"},
		{operating("boss", "**"), operation.SessionList{Namespace: "acme", Subtree: true, Owner: "ben"}, "Web-1"},
		{operating("boss", "**"), operation.SessionList{Text: "wEB"}, "Web-1"},
		{operating("boss", "**"), operation.SessionList{Text: "a", Owner: "ann"}, "mail-1 mail-2"},
		{operating("boss", "**"), operation.SessionList{Text: strings.Repeat("x", 1<<20)}, ""},
		{operating("boss", "acme/**"), operation.SessionList{}, "Web-1 mail-1 mail-2 own"},
		{operating("boss", "acme/web"), operation.SessionList{}, "Web-1 own"},
		{operating("boss", "acme/**"), operation.SessionList{Owner: "eve"}, ""},
		{core.Operator(""), operation.SessionList{}, "Far Web-1 mail-1 mail-2 own"},
		{agent("ann", "**"), operation.SessionList{}, "mail-1 mail-2"},
		{agent("ann", "**"), operation.SessionList{Owner: "ann"}, "mail-1 mail-2"},
		{agent("ann", "acme/mail"), operation.SessionList{}, "mail-1"},
		{agent("ann", "**"), operation.SessionList{Text: "WEB"}, ""},
		{agent("zed", "**"), operation.SessionList{}, ""},
		{core.Anybody(), operation.SessionList{}, ""},
	} {
		if got := strings.Join(listedSessions(w, test.caller, test.in), " "); got != test.want {
			t.Errorf("%s in %v with %+.60v: %q, want %q", test.caller.Subject, test.caller.Namespaces, test.in, got, test.want)
		}
	}
	_, err := w.Do(agent("ann", "**"), "session_list", &operation.SessionList{Owner: "ben"})
	w.Refused(err, sdk.Denied, "scope_denied")
	_, err = w.Do(operating("boss", "acme/**"), "session_list", &operation.SessionList{Namespace: "other"})
	w.Refused(err, sdk.Denied, "namespace_denied")
	_, err = w.Do(operating("boss", "**"), "session_list", &operation.SessionList{Namespace: "a//b"})
	w.Refused(err, sdk.Invalid, "namespace_invalid")
	lone := operating("boss", "**")
	lone.Scopes = []core.Scope{core.ScopeOperate}
	_, err = w.Do(lone, "session_list", &operation.SessionList{})
	w.Refused(err, sdk.Denied, "scope_denied")
	page, err := w.Do(operating("boss", "**"), "session_list", &operation.SessionList{Paging: operation.Paging{Limit: 1}})
	w.Must(err)
	token := page.(*operation.Page[memory.Session]).NextPageToken
	_, err = w.Do(agent("boss", "**"), "session_list", &operation.SessionList{Paging: operation.Paging{PageToken: token}})
	w.Refused(err, sdk.Invalid, "invalid_page_token")
}

// TestSessionGet_ShowsOperatorsWhatTheyReach: a session of another subject to an operator of its
// namespace, without the turns that belong to other namespaces; and nothing to be used.
func TestSessionGet_ShowsOperatorsWhatTheyReach(t *testing.T) {
	busy, empty := overseen(t), newWorld(t)
	hadTurn(busy, agent("ann", "**"), "mail-1", "other", "a secret of the other tenant", core.FeedbackRequest{Outcome: core.OutcomeFailure, Summary: "the secret failed"})
	hadTurn(busy, agent("ann", "**"), "mail-1", "acme/mail", "again", core.FeedbackRequest{Outcome: core.OutcomePartial})
	turns := func(c core.Caller) (list []string) {
		out, err := busy.Do(c, "session_get", &operation.SessionGet{Session: "mail-1", Paging: operation.Paging{Limit: 2}})
		busy.Must(err)
		s := out.(*operation.Session)
		for _, turn := range s.Items {
			list = append(list, fmt.Sprint(turn.Turn, " ", turn.Query))
		}
		return append(list, fmt.Sprint(s.NextPageToken != ""))
	}
	for name, test := range map[string]struct {
		caller core.Caller
		want   []string
	}{
		"the owner":             {agent("ann", "**"), []string{"1 q", "2 a secret of the other tenant", "true"}},
		"an operator of all":    {operating("boss", "**"), []string{"1 q", "2 a secret of the other tenant", "true"}},
		"the local operator":    {core.Operator(""), []string{"1 q", "2 a secret of the other tenant", "true"}},
		"a tenant's operator":   {operating("boss", "acme/**"), []string{"1 q", "3 again", "false"}},
		"the owner, restricted": {agent("ann", "acme/mail"), []string{"1 q", "3 again", "false"}},
	} {
		if diff := cmp.Diff(test.want, turns(test.caller)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for name, caller := range map[string]core.Caller{
		"another subject": agent("ben", "**"), "an operator elsewhere": operating("boss", "other/**"), "an operator above": operating("boss", "acme"),
		"an operator without memory:read": {Subject: "boss", Scopes: []core.Scope{core.ScopeOperate}, Namespaces: []string{"**"}},
		"nobody known":                    core.Anybody(),
	} {
		in := &operation.SessionGet{Session: "mail-1"}
		if there, absent := answer(busy.Do(caller, "session_get", in)), answer(empty.Do(caller, "session_get", in)); there != absent {
			t.Errorf("%s gets\n%s\nand where there is no session\n%s", name, there, absent)
		}
	}
	boss := operating("boss", "**")
	boss.Scopes = core.Scopes()
	for name, in := range map[string]any{
		"session_reset": &operation.SessionReset{Session: "mail-1"}, "session_resume": &operation.SessionResume{Session: "mail-1", Window: 1},
		"memory_feedback": &core.FeedbackRequest{Session: "mail-1", Turn: 1, Outcome: core.OutcomeFailure, Source: "user"},
	} {
		if _, err := busy.Do(boss, name, in); sdk.CodeOf(err) != sdk.NotFound {
			t.Errorf("an operator may %s: %v", name, err)
		}
	}
	if own := recallAs(busy, boss, "mail-1", "acme/mail"); own.Turn != 1 {
		t.Errorf("an operator recalls in turn %d of another's session", own.Turn)
	}
}

// TestTurns_KeepTheBeginningOfTheirQuery, and lose it with a memory that they recalled.
func TestTurns_KeepTheBeginningOfTheirQuery(t *testing.T) {
	w := newWorld(t)
	observed(w, "m", here)
	me := agent("me", "**")
	long := strings.Repeat("ü", 30_000)
	queries := []string{
		"harbour", "<script>alert(1)</script> harbour", "harbour \u202Egnp.exe", "harbour \u0000 null", "harbour\nand\r\nlines", `harbour "quoted" \ back`, "harbour " + long,
		strings.Repeat("z", 500) + "harbour",
	}
	for _, query := range queries {
		hadTurn(w, me, "s", here, query, core.FeedbackRequest{Outcome: core.OutcomeSuccess, Used: []string{}})
	}
	hadTurn(w, me, "s", "empty", "finds nothing", core.FeedbackRequest{Outcome: core.OutcomeSuccess})
	queries = append(queries, "finds nothing")
	shown := func() (list []string) {
		out, err := w.Do(me, "session_get", &operation.SessionGet{Session: "s"})
		w.Must(err)
		for _, turn := range out.(*operation.Session).Items {
			if turn.At.IsZero() || turn.RunID != "" {
				t.Errorf("turn %d began at %s in run %q", turn.Turn, turn.At, turn.RunID)
			}
			list = append(list, turn.Query)
		}
		return list
	}
	want := slices.Clone(queries)
	want[6], want[7] = "harbour "+strings.Repeat("ü", 492)+"…", strings.Repeat("z", 500)+"…"
	if diff := cmp.Diff(want, shown()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	sound(w)
	_, err := w.Host.Memories.Gate.Erase(w.Ctx, "m", memory.EraseRequest{Reason: "asked"})
	w.Must(err)
	for i, query := range shown() {
		if query != "" && strings.Contains(queries[i], "harbour") {
			t.Errorf("turn %d still has %q", i+1, query)
		}
	}
	w.Must(w.Host.Store.View(w.Ctx, func(r core.Reader) error {
		return core.ScanPrefix(r, nil, func(key, value []byte) (bool, error) {
			if strings.Contains(string(key)+string(value), "harbour") {
				t.Errorf("%q has the query: %.300q", key, value)
			}
			return true, nil
		})
	}))
	sound(w)
}

// turnsOf are the counted turns of the last day.
func turnsCounted(w *world, c core.Caller, in operation.RunHours) (turns run.Counts, buckets []string) {
	w.T.Helper()
	in.Since, in.Bucket, in.Buckets = w.Config.Clock.Now().UTC().Truncate(time.Hour).Add(-23*time.Hour), time.Hour, 24
	h, err := operation.RunHistoryOf(core.WithCaller(w.Ctx, c), operation.Call{Host: w.Host}, &in)
	w.Must(err)
	if h.All.Ended() != 0 || len(h.Workflows) != 0 {
		w.T.Errorf("turns are counted as runs: %+v", h.All)
	}
	for i := range h.TurnBuckets {
		if n := h.TurnBuckets[i].Ended(); n > 0 {
			buckets = append(buckets, fmt.Sprint(i, ":", n))
		}
	}
	return h.Turns, buckets
}

// TestRunHistory_CountsTheTurnsOfAgents: each turn once, with its newest outcome, where it began and
// when; and the counts are made again from the turns.
func TestRunHistory_CountsTheTurnsOfAgents(t *testing.T) {
	w := newWorld(t)
	w.Config.Clock.(interface{ Advance(time.Duration) }).Advance(time.Minute)
	observed(w, "m", here)
	outcomes := []core.Outcome{core.OutcomeSuccess, core.OutcomeSuccess, core.OutcomePartial, core.OutcomeFailure}
	for i := range 180 {
		at := [][2]string{{"ann", "a"}, {"ann", "b"}, {"ben", "c"}}[i%3]
		hadTurn(w, agent(at[0], here), at[1], here, "harbour", core.FeedbackRequest{Outcome: outcomes[i%4], Used: []string{"m"}[:i%2]})
		if i == 99 {
			w.Config.Clock.(interface{ Advance(time.Duration) }).Advance(time.Hour)
		}
	}
	all := run.Counts{Passed: 90, Exhausted: 45, Failed: 45, Recalled: 180, Used: 90}
	check := func(when string, want run.Counts, buckets string) {
		t.Helper()
		got, hours := turnsCounted(w, operating("boss", "**"), operation.RunHours{})
		if diff := cmp.Diff(want, got); diff != "" || strings.Join(hours, " ") != buckets {
			t.Errorf("%s, in %v (-want +got):\n%s", when, hours, diff)
		}
		sound(w)
	}
	check("at first", all, "22:100 23:80")
	feedback := func(session string, turn int64, outcome core.Outcome, source string) {
		t.Helper()
		caller := agent(map[string]string{"c": "ben"}[session], here)
		if caller.Subject == "" {
			caller.Subject = "ann"
		}
		_, err := w.Do(caller, "memory_feedback", &core.FeedbackRequest{Session: session, Turn: turn, Outcome: outcome, Source: source})
		w.Must(err)
	}
	feedback("a", 1, core.OutcomeFailure, "text") // a duplicate, which changes nothing
	check("after a duplicate", all, "22:100 23:80")
	feedback("a", 1, core.OutcomeFailure, "user") // it was a success
	feedback("c", 2, core.OutcomePartial, "tool") // it was a success
	all.Passed, all.Failed, all.Exhausted = 88, 46, 46
	check("after better feedback", all, "22:100 23:80")
	if got, _ := turnsCounted(w, operating("boss", elsewhere+"/**"), operation.RunHours{}); got.Ended() != 0 {
		t.Errorf("the operator of another namespace sees %+v", got)
	}
	if got, _ := turnsCounted(w, operating("boss", "**"), operation.RunHours{Namespace: here}); got.Ended() != 180 {
		t.Errorf("in the namespace there are %+v", got)
	}
	var damaged []string
	w.Must(w.Host.Store.Update(w.Ctx, func(tx core.Tx) error {
		damaged = nil
		var keys [][]byte
		err := core.ScanPrefix(tx, []byte("run-hour/"), func(key, _ []byte) (bool, error) {
			keys = append(keys, slices.Clone(key))
			return true, nil
		})
		for i, key := range keys {
			damaged = append(damaged, string(key))
			if i%2 == 0 {
				err = core.JoinErrors(err, tx.Delete(key))
			} else {
				err = core.JoinErrors(err, tx.Put(key, []byte(`{"workflow":"reflectory/turns","passed":7}`)))
			}
		}
		return core.JoinErrors(err, tx.Put([]byte(strings.Replace(string(keys[0]), "run-hour/\xff", "run-hour/\xfe", 1)), []byte("{}")))
	}))
	checked := try[operation.StoreChecked](w, "store_check", &operation.StoreCheck{Repair: true})
	if len(damaged) < 2 || !checked.Valid {
		t.Errorf("of %d damaged counts the check says %+v", len(damaged), checked)
	}
	check("after a repair", all, "22:100 23:80")
}

// TestRunHistory_CountsARunsTurnOnce: a workflow's turn is shown with its run and counted in the run's
// counts alone, no matter who closes it, and an agent's turn in the turns' counts, also if a run closes it.
func TestRunHistory_CountsARunsTurnOnce(t *testing.T) {
	w := newWorld(t)
	observed(w, "m", here)
	me := agent("me", here)
	history := func() *operation.RunHistory {
		t.Helper()
		h, err := operation.RunHistoryOf(w.Ctx, operation.Call{Host: w.Host}, &operation.RunHours{
			Since: w.Config.Clock.Now().UTC().Truncate(time.Hour), Bucket: time.Hour, Buckets: 1,
		})
		w.Must(err)
		return h
	}
	start := func(workflow string) string {
		t.Helper()
		out, err := w.Do(me, "run_start", &operation.RunStart{Workflow: workflow, Namespace: here, Session: "shared"})
		w.Must(err)
		return out.(*operation.RunEnded).ID
	}
	const recall = "  - {name: tips, action: memory.recall, with: {query: harbour}}\n"
	by := map[int64]string{1: start("name: plain\nnodes:\n" + recall), 2: start("name: closed\nnodes:\n" + recall + "  - {name: end_it, action: memory.feedback, with: {outcome: success}}\n")}
	if h := history(); h.Turns.Ended() != 0 || h.All.Ended() != 2 || h.All.Recalled != 2 {
		t.Errorf("after two runs: %+v, turns %+v", h.All, h.Turns)
	}
	_, err := w.Do(me, "memory_feedback", &core.FeedbackRequest{Session: "shared", Turn: 1, Outcome: core.OutcomeFailure, Source: "user"})
	w.Must(err)
	out, err := w.Do(me, "memory_recall", &core.RecallRequest{Session: "shared", Query: "harbour", RecallFilter: core.RecallFilter{Namespace: here}})
	w.Must(err)
	if got := out.(*operation.Recalled).Turn; got != 3 {
		t.Fatalf("the agent's turn is %d", got)
	}
	start("name: closes\nnodes:\n  - {name: end_it, action: memory.feedback, with: {session: shared, turn: 3, outcome: failure}}\n")
	if h := history(); h.Turns.Ended() != 1 || h.Turns.Failed != 1 || h.All.Ended() != 3 {
		t.Errorf("after an agent's turn: %+v, turns %+v", h.All, h.Turns)
	}
	out, err = w.Do(me, "session_get", &operation.SessionGet{Session: "shared"})
	w.Must(err)
	for _, turn := range out.(*operation.Session).Items {
		if turn.RunID != by[turn.Turn] || turn.Query != "harbour" || turn.Feedback == nil || turn.Score <= 0 {
			t.Errorf("turn %d is %+v, of run %q", turn.Turn, turn, by[turn.Turn])
		}
	}
	sound(w)
	_, err = w.Do(me, "run_start", &operation.RunStart{Workflow: "name: reflectory/turns\nnodes:\n" + recall, Namespace: here})
	if err == nil || !strings.Contains(err.Error(), "the name is reserved") {
		t.Errorf("a workflow with the name of the turns: %v", err)
	}
}
