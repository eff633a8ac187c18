package operationtest

// Mistakes is a request with two or more independent mistakes, all of which an answer must name.
type Mistakes struct {
	Operation string
	// Request is the request as JSON; an id in it names nothing.
	Request string
	// Places are the JSON pointers of the mistakes in it.
	Places []string
	// Wrong is a member of a wrong type that the request can also have, and WrongPlace its pointer.
	Wrong, WrongPlace string
}

// AllMistakes has a request of every operation that has at least two fields with bounds of their own.
func AllMistakes() []Mistakes {
	const id = `"id": "00000000-0000-7000-8000-00000000dead"`
	return []Mistakes{
		{"audit_entries", `{"stream": "root", "types": ["no.type"], "limit": 999}`, []string{"/types", "/limit"}, `"from": "x"`, "/from"},
		{"correct", `{"corrector": "plugin: [", "namespace": "a//b"}`, []string{"/namespace", "/output"}, `"files": 5`, "/files"},
		{"decision_list", `{"point": "gat", "outcome": "x", "limit": 999}`, []string{"/point", "/outcome", "/limit"}, `"newest": "x"`, "/newest"},
		{"discover", `{"intent": " ", "namespace": "a//b"}`, []string{"/intent", "/namespace"}, `"namespace": 5`, "/namespace"},
		{"dream_calibrate", `{"pairs": [{"a": "", "b": "x"}, {"a": "x", "b": ""}]}`, []string{"/pairs/0/a", "/pairs/1/b"}, `"pair": 5`, "/pair"},
		{"dream_compare", `{"a": "", "b": ""}`, []string{"/a", "/b"}, `"b": 5`, "/b"},
		{"dream_conflicts", `{"namespace": "a//b", "limit": 999}`, []string{"/namespace", "/limit"}, `"limit": "x"`, "/limit"},
		{"dream_dates", `{"text": "", "at": "noon"}`, []string{"/text", "/at"}, `"ranges": 5`, "/ranges"},
		{"dream_list", `{"namespace": "a//b", "limit": 999}`, []string{"/namespace", "/limit"}, `"limit": "x"`, "/limit"},
		{"dream_plan", `{"namespace": "a//b", "mode": "sometimes", "options": {"stale_below": 2, "decay": "none"}}`,
			[]string{"/namespace", "/mode", "/options/stale_below", "/options/decay"}, `"full": 5`, "/full"},
		{"dream_run", `{"namespace": "a//b", "mode": "sometimes", "options": {"stale_below": 2}}`,
			[]string{"/namespace", "/mode", "/options/stale_below"}, `"full": 5`, "/full"},
		{"evaluate", `{"evaluator": "plugin: [", "namespace": "a//b"}`, []string{"/namespace", "/evaluator"}, `"files": 5`, "/files"},
		{"evidence_dag", `{"workflow": "", "entry": ["a b"], "exits": ["b"], "edges": [["a b", "b"]], "memories": {"no id!": ["b"]}}`,
			[]string{"/workflow", "/edges/0", "/memories"}, `"exits": 5`, "/exits"},
		{"evidence_omega", `{"memory_id": "no id!", "upstream_status": 2, "runtime_utility_trend": -1}`,
			[]string{"/memory_id", "/upstream_status", "/runtime_utility_trend"}, `"note": 5`, "/note"},
		{"evidence_tool", `{"outcomes": [{"memory_id": "no id!", "session": "s", "turn": -1, "tool": "t", "ok": true}, {"memory_id": "m", "session": "s", "turn": 1, "tool": "", "ok": true}]}`,
			[]string{"/outcomes/0/memory_id", "/outcomes/0/turn", "/outcomes/1/tool"}, `"outcome": 5`, "/outcome"},
		{"gate_explain", `{` + id + `, "upstream_status": 2, "codebase_verification": 2}`, []string{"/upstream_status", "/codebase_verification"}, `"now": 5`, "/now"},
		{"gate_request", `{` + id + `, "reason": " "}`, []string{"/erase", "/reason"}, `"copies": 5`, "/copies"},
		{"gate_run", `{` + id + `, "upstream_status": 2, "codebase_verification": 2}`, []string{"/upstream_status", "/codebase_verification"}, `"dry_run": 5`, "/dry_run"},
		{"governance_set", `{"namespace": "here", "assignments": ["max_depth=2", "max_reflection_depth=x"]}`,
			[]string{"/assignments/0", "/assignments/1"}, `"if_version": 5`, "/if_version"},
		{"governance_unset", `{"namespace": "here", "fields": ["max_depth", "min_depth"]}`, []string{"/fields/0", "/fields/1"}, `"fied": 5`, "/fied"},
		{"job_enqueue", `{"type": "nap", "namespace": "a//b"}`, []string{"/type", "/namespace"}, `"typ": 5`, "/typ"},
		{"job_list", `{"type": "nap", "status": "done", "namespace": "a//b", "limit": 999}`, []string{"/type", "/status", "/namespace", "/limit"}, `"subtree": 5`, "/subtree"},
		{"knowledge_list", `{"namespace": "a//b", "limit": 999}`, []string{"/namespace", "/limit"}, `"superseded": 5`, "/superseded"},
		{"knowledge_recall", `{"namespace": "a//b", "query": " ", "limit": 999}`, []string{"/namespace", "/query", "/limit"}, `"min_score": "x"`, "/min_score"},
		{"memory_feedback", `{"session": "no session!", "turn": -1, "outcome": "good", "source": "me"}`,
			[]string{"/session", "/turn", "/outcome", "/source"}, `"used": 5`, "/used"},
		{"memory_link", `{"from": "m", "to": "no id!", "relation": "No Word", "metadata": [1]}`, []string{"/to", "/relation", "/metadata"}, `"weight": 5`, "/weight"},
		{"memory_list", `{"namespace": "a//b", "kinds": ["semantics"], "limit": 999}`, []string{"/namespace", "/kinds", "/limit"}, `"subtree": 5`, "/subtree"},
		{"memory_observe", `{"namespace": "a//b", "title": " ", "content": "", "priority": 11}`,
			[]string{"/namespace", "/title", "/content", "/priority"}, `"tags": 5`, "/tags"},
		{"memory_observe_all", `{"items": [{"content": "a"}, {"namespace": "a//b", "content": ""}, {"content": "c", "priority": 11}]}`,
			[]string{"/items/1/namespace", "/items/1/content", "/items/2/priority"}, `"item": 5`, "/item"},
		{"memory_pending", `{"namespace": "a//b", "limit": 999}`, []string{"/namespace", "/limit"}, `"limit": "x"`, "/limit"},
		{"memory_recall", `{"namespace": "a//b", "query": " ", "limit": 999, "session": "no session!"}`,
			[]string{"/namespace", "/query", "/limit", "/session"}, `"tags": 5`, "/tags"},
		{"memory_reflect", `{"namespace": "a//b", "source_ids": ["m1", "m1"], "title": " ", "content": "", "priority": 11}`,
			[]string{"/namespace", "/source_ids/1", "/title", "/content", "/priority"}, `"tags": 5`, "/tags"},
		{"plugin_logs", `{"name": "test/judge", "lines": -1, "after": "nowhere"}`, []string{"/lines", "/after"}, `"line": 5`, "/line"},
		{"reflection_enqueue", `{"user_id": "a/b", "namespace": "a//b", "max_insights": 51}`,
			[]string{"/user_id", "/namespace", "/max_insights"}, `"focus": 5`, "/focus"},
		{"run_list", `{"status": "pased", "namespace": "a//b", "limit": 999}`, []string{"/status", "/namespace", "/limit"}, `"subtree": 5`, "/subtree"},
		{"run_replay", `{` + id + `, "evaluator": "plugin: [", "accept": "scor > 1"}`, []string{"/evaluator", "/accept"}, `"files": 5`, "/files"},
		{"run_start", `{"workflow": "nodes: []", "namespace": "a//b", "set": [{"path": "a..b", "value": 7}]}`,
			[]string{"/workflow", "/namespace"}, `"session": 5`, "/session"},
		{"session_get", `{"session": "no session!", "limit": 999}`, []string{"/session", "/limit"}, `"limit": "x"`, "/limit"},
		{"snapshot_build", `{"namespace": "a//b", "session": "s", "turn": -1, "complexity": 2, "blocks": [{"block_id": "b", "category": "none", "priority": 1, "payload": "x"}], "policy": {"mode": "both", "max_chars": -1}}`,
			[]string{"/namespace", "/turn", "/complexity", "/blocks/0/category", "/policy/mode", "/policy/max_chars"}, `"risk": "x"`, "/risk"},
		{"snapshot_list", `{"namespace": "a//b", "limit": 999}`, []string{"/namespace", "/limit"}, `"limit": "x"`, "/limit"},
		{"stats", `{"scope": "memry", "user_id": "a/b", "namespace": "a//b"}`, []string{"/scope", "/user_id", "/namespace"}, `"subtree": 5`, "/subtree"},
		{"token_new", `{"subject": "", "scopes": ["rum"], "namespaces": ["a//b"], "expires_in": -1}`,
			[]string{"/subject", "/scopes", "/namespaces/0", "/expires_in"}, `"label": 5`, "/label"},
	}
}
