package mcpserver

import (
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reflectory/reflectory/core"
)

// docs describe the arguments, in up to 140 characters each, since a list of tools costs context in
// each turn: what it is, and what happens without it. An argument that means something else in one
// tool is there with the tool's name.
func docs() map[string]string {
	return map[string]string{
		"action": "what to do", "agent_id": "your name as an agent; default: the caller's", "blocks": "blocks of the prompt, by category and priority",
		"codebase_verification": "0 to 1: how far the code confirms the memories", "complexity": "0 to 1: how complex the turn is",
		"confidence": "0 to 1; default 1", "content": "the fact, in a full sentence", "content_offset": "next_content_offset of the last answer",
		"copies": "true: memories with the same content too", "corrector": `its YAML, such as "plugin: acme/fixer"`, "depth": "the expected depth; another is refused",
		"detail": "full: everything", "dry_run": "true: write nothing", "edges": "[[from, to], …]: steps of the workflow", "entry": "its first steps",
		"erase": "true, to erase", "errors": "the errors that evaluate found", "evaluator": `its YAML, such as "plugin: acme/judge"`, "exits": "its last steps",
		"failure_class": "why it failed; default: other", "file": "the name of the workflow's file, for messages", "files": "other files that it names: {path: text}",
		"folder": "the folder in which its programs work", "focus": `what to reflect on, such as "billing"; default: anything`, "force": "true: even if it isn't due", "from": "the newer memory's id",
		"full": "true: all memories, not only new ones", "id": "the memory's id", "idempotency_key": "a repeated call with it does nothing more",
		"importance": "0 to 1; default 0.5", "include_superseded": "true: outdated ones too", "input": "what the workflow starts with", "intent": "what you want to do, in plain words",
		"job_id": "from the call that started it", "kind": "default observation; semantic: a fact, procedural: a way to do something", "kinds": "default: all but notifications",
		"limit": "how many at most; default 5", "max_insights": "1 to 50; default 5", "memories": "{step: [memory ids]}", "memory_id": "the memory of the outcome",
		"metadata": "anything else, as an object", "min_p": "0 to 1: the lowest probability of relevance", "min_score": "0 to 1: the lowest score",
		"mode": "default coordinated: skipped if it isn't due", "namespace": "such as team/project; default: your own", "next_turn_hint": "for the next turn's prompt",
		"note": "a line for the record", "notes": "lines for the record", "now": "true: what the gate would decide now", "occurred_at": "when it happened, such as 2026-11-01T10:00:00Z",
		"outcome": "how the turn went", "outcomes": "results of tools that followed memories", "output": "the output to judge, any JSON", "page_token": "next_page_token of the last answer",
		"priority": "1 to 10; default 5", "query": "what to look for; without it: the newest", "reason": "why; it is recorded", "relation": "or any other word",
		"reply": "your answer in this turn; shows which memories were used", "risk": "0 to 1: how much may go wrong", "run_id": "from run_loop",
		"runtime_utility_trend": "-1 to 1: whether they help more or less than before", "scope": "default all", "session": "any name, the same in each turn",
		"set": "changes to the workflow: [{path, value}]", "source": "who says so; default text", "source_ids": "the memories that it follows from",
		"state": "values that the step sees, by name", "states": "default: all that can be recalled", "step": "undo only this step of the run", "subtree": "true: namespaces below too",
		"supersedes": "ids of memories that this one corrects; they aren't recalled any more", "tags": `such as ["billing"]`, "title": "default: the content's beginning",
		"to": "the other memory's id", "tool_outcomes": "results of tools that followed memories", "turn": "from retrieve", "upstream_status": "0 to 1: how sound their sources are",
		"used": `memories that helped: ids, or handles such as "m1"`, "user_id": "default: the namespace's user", "with": "the other snapshot's id; default: the turn before",
		"workflow": "its YAML, or the name of a stored one", "assumed": "memories that may have helped", "corrective_action": "what fixes the failure", "summary": "for prompts of later turns",

		"approve.id": "pending_id from memory_reflect", "dream.id": "the run to undo, from run", "dream.agent": "only this agent's memories", "gate.workflow": "the workflow's name",
		"inject.id": "the snapshot's id", "inject.query": "what to recall; default: nothing", "inject.turn": "the turn's number; default: the next",
		"retrieve.turn": "default: the next turn", "retrieve.tags": "memories with all of them", "retrieve.session": "any name, the same in each turn; feedback needs it",
		"stats.user_id": "count only this user's", "retrieve.agent_id": "only this agent's", "memory_reflect.content": "your conclusion, in full sentences",
		"reflect.user_id": "whom it is about; default: nobody", "retrieve.kinds": "default: all but notifications",
		"observe.id": "an id that you choose; default: generated", "memory_reflect.kind": "default reflection", "run_loop.state": "values that the workflow starts with",
	}
}

// rare are arguments that a tool takes, and that its schema doesn't list: few calls need them, and each
// would cost context in every turn. They are in the document of the API.
func rare() map[string][]string {
	return map[string][]string{
		"observe":        {"agent_id", "confidence", "id", "idempotency_key"},
		"memory_reflect": {"agent_id", "confidence", "depth", "idempotency_key", "priority", "metadata", "occurred_at"},
		"retrieve":       {"agent_id", "as_of", "from", "min_p", "min_score", "states", "to"},
		"feedback":       {"agent_id", "assumed", "corrective_action", "summary"},
		"reflect":        {"dry_run"},
		"loop_status":    {"user_id", "wait"},
		"forget":         {"erase"},
	}
}

// refine adds to an argument what the request's Go type doesn't show: its description, and words.
func refine(tool, name string, s *jsonschema.Schema) {
	switch tool + "." + name {
	case "feedback.failure_class":
		s.Enum = list(core.FailureClasses())
	case "feedback.source":
		s.Enum = []any{"user", "tool", "text"}
	case "dream.mode":
		s.Enum = []any{"coordinated", "always", "force"}
	case "memory_link.relation":
		s.Examples = list([]string{core.RelationSupersedes, core.RelationContradicts, "related_to"})
	case "run_loop.set":
		s.Items.Properties["value"].Description = "any JSON" // some clients refuse a bare true for a schema
	case "retrieve.states":
		s.Items.Enum = slices.DeleteFunc(s.Items.Enum, func(v any) bool { return !core.MemoryState(v.(string)).Recallable() })
	}
	if name == "occurred_at" {
		s.Format = "date-time"
	}
	all := docs()
	if s.Description = all[tool+"."+name]; s.Description == "" {
		s.Description = all[name]
	}
}

func list[T ~string](words []T) []any {
	all := make([]any, len(words))
	for i, w := range words {
		all[i] = string(w)
	}
	return all
}
