package mcpserver

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// aliases are other names that models give to arguments, each with the arguments that it can
// mean: the first one that a tool has is meant. Names are folded, see [folded].
func aliases() map[string][]string {
	list := map[string][]string{}
	for target, names := range map[string]string{
		"content": "text memory fact note message body value observation insight statement", "query": "q search searchquery searchtext question text prompt keywords",
		"intent": "query goal task q text what description request", "limit": "topk k n top count maxresults numresults size topn pagesize",
		"max_insights": "limit max n count maxresults", "namespace": "ns project workspace space", "user_id": "user uid username", "agent_id": "agent agentname",
		"id": "memoryid memid memory uuid pendingid", "job_id": "job id taskid reflectionid", "run_id": "run", "session": "sessionid conversationid conversation threadid thread chatid",
		"turn": "turnid turnnumber turnno", "used": "usedids usedmemories usedmemoryids memoriesused memoryids memories",
		"outcome": "result status success", "next_turn_hint": "hint nexthint", "reply": "response answer", "failure_class": "failuretype failure errorclass errortype",
		"tags": "tag labels label", "kind": "type memorytype memorykind category", "kinds": "kind type types memorytype memorytypes", "states": "state",
		"title": "name subject headline", "source_ids": "sources source memoryids memories ids derivedfrom basedon", "from": "sourceid fromid source",
		"to": "targetid toid target", "relation": "relationship rel type linktype relationtype", "importance": "salience", "metadata": "meta extra attributes",
		"supersedes": "replaces supersede supersededids corrects", "workflow": "yaml name workflowyaml workflowname", "input": "inputs",
		"output": "text content answer candidate", "evaluator": "plugin judge", "corrector": "plugin fixer", "occurred_at": "date when timestamp datetime eventtime",
		"focus": "topic about", "action": "operation command", "reason": "why", "min_score": "threshold scorethreshold", "scope": "section", "detail": "verbosity",
	} {
		for name := range strings.FieldsSeq(names) {
			list[name] = append(list[name], target)
		}
	}
	for _, targets := range list {
		slices.Sort(targets) // no tool has two that one name can mean, but the order must not change
	}
	return list
}

// folded is a name without the differences of camelCase, kebab-case and snake_case.
func folded(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("_- .", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// previews are arguments that ask for nothing to happen. A tool that doesn't know them must not
// drop them, since it would then do what it was asked not to do.
var previews = []string{"dryrun", "preview", "simulate", "testonly", "whatif"}

// object reads the members of an object: a member that is null is absent, one with another name of an
// argument is that argument, and one that nothing is known of is left out.
func (r *reading) object(object json.RawMessage, s *jsonschema.Schema, place string) json.RawMessage {
	list := jsontext.Members(object)
	if list == nil || len(s.Properties) == 0 {
		return object
	}
	given := map[string]json.RawMessage{}
	for _, m := range list {
		given[m.Key] = m.Value
	}
	read := make([]jsontext.Member, 0, len(list))
	for _, m := range list {
		name, known := r.nameOf(m, s)
		p := s.Properties[name]
		if isNull := string(bytes.TrimSpace(m.Value)) == "null"; isNull && (!known || p.Type != "") {
			r.nulls = append(r.nulls, name)
			continue
		}
		at := core.Cut(m.Key)
		if place != "" {
			at = place + "/" + at
		}
		switch {
		case !known && r.drops(m.Key):
			r.say("%s: there is no such argument, so it was left out", at)
			continue
		case !known:
			read = append(read, m) // for the refusal, which names it
			continue
		}
		value, absent := r.value(m.Value, p, at), false
		if absent = isNothing(value, p); absent {
			r.say("%s: %s was read as nothing", at, m.Value)
			continue
		}
		same := func(o jsontext.Member) bool { return o.Key == name }
		if i := slices.IndexFunc(read, same); i >= 0 || name != m.Key && given[name] != nil && string(given[name]) != "null" {
			var quiet reading
			other := quiet.value(given[name], p, at)
			if i >= 0 {
				other = read[i].Value
			}
			if !bytes.Equal(other, value) {
				r.wrong = append(r.wrong, sdk.Errorf(sdk.Invalid, "argument_repeated", "%s and %s are the same argument, and have different values", at, name).
					WithHint("give only %s", name).WithDetail("field", at))
			}
			continue
		}
		if name != m.Key {
			r.note(at, "the name", name)
		}
		read = append(read, jsontext.Member{Key: name, Value: value})
	}
	return jsontext.JoinMembers(read)
}

// drops reports whether an unknown argument is left out.
func (r *reading) drops(name string) bool {
	return !r.strict && !slices.Contains(r.leaves, name) && !slices.Contains(previews, folded(name))
}

// nameOf is the argument that a member means. A word that isn't one of an argument's own words doesn't
// mean that argument, unless it has the argument's name.
func (r *reading) nameOf(m jsontext.Member, s *jsonschema.Schema) (name string, known bool) {
	if s.Properties[m.Key] != nil {
		return m.Key, true
	}
	for name := range s.Properties {
		if folded(name) == folded(m.Key) {
			return name, true
		}
	}
	for _, name := range r.aliases()[folded(m.Key)] {
		p := s.Properties[name]
		if p == nil {
			continue
		}
		var quiet reading
		if read := quiet.value(m.Value, p, ""); hasWord(read, p) {
			return name, true
		}
	}
	return "", false
}

func (r *reading) aliases() map[string][]string {
	if r.known == nil {
		r.known = aliases()
	}
	return r.known
}

// hasWord reports whether a value has only words that its schema lists, if it lists any.
func hasWord(value json.RawMessage, s *jsonschema.Schema) bool {
	if s.Type == "array" && s.Items != nil && len(s.Items.Enum) > 0 {
		var list []json.RawMessage
		return json.Unmarshal(value, &list) == nil && !slices.ContainsFunc(list, func(v json.RawMessage) bool { return !hasWord(v, s.Items) })
	}
	if len(s.Enum) == 0 {
		return true
	}
	var text string
	return json.Unmarshal(value, &text) == nil && slices.Contains(s.Enum, any(text))
}

// isNothing reports whether a text stands for the absence of a value that isn't a free text.
func isNothing(value json.RawMessage, s *jsonschema.Schema) bool {
	free := s.Type == "" || s.Type == "string" && len(s.Enum) == 0
	return !free && slices.Contains([]string{`""`, `"null"`, `"None"`, `"undefined"`}, string(value)) && !slices.Contains(s.Enum, any(""))
}

// wrappers are members around arguments that some models send instead of the arguments.
var wrappers = []string{"arguments", "args", "params", "parameters", "kwargs", "input"}

// unwrapped are the arguments within a single member of such a name, which the tool itself doesn't have.
func (r *reading) unwrapped(body json.RawMessage, s *jsonschema.Schema) json.RawMessage {
	list := jsontext.Members(body)
	if len(list) != 1 || !slices.Contains(wrappers, list[0].Key) || s.Properties[list[0].Key] != nil {
		return body
	}
	inside := r.value(list[0].Value, &jsonschema.Schema{Type: "object"}, list[0].Key)
	if jsontext.Kind(inside) != "an object" {
		return body
	}
	r.note(list[0].Key, "what is in it", "the arguments")
	return inside
}
