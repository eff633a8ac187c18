package mcpserver

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
)

// detour is another operation that does a call, with its request, and what it makes of the result.
type detour struct {
	operation string
	request   json.RawMessage
	result    func(json.RawMessage) json.RawMessage
}

// newest lists the newest memories for a retrieve that looks for nothing.
func newest(_ core.Caller, request json.RawMessage) *detour {
	var asked []jsontext.Member
	takes := []string{"namespace", "subtree", "kinds", "states", "tags", "agent_id", "limit"}
	limited, kinds := false, false
	for _, m := range jsontext.Members(request) {
		var text string
		if m.Key == "query" && (json.Unmarshal(m.Value, &text) != nil || strings.TrimSpace(text) != "") {
			return nil
		}
		if slices.Contains(takes, m.Key) {
			asked = append(asked, m)
			limited, kinds = limited || m.Key == "limit", kinds || m.Key == "kinds"
		}
	}
	asked = append(asked, jsontext.Member{Key: "current", Value: json.RawMessage("true")})
	if !limited {
		asked = append(asked, jsontext.Member{Key: "limit", Value: json.RawMessage("5")})
	}
	if !kinds { // as a recall, it leaves out notifications
		asked = append(asked, jsontext.Member{Key: "kinds", Value: json.RawMessage(`["observation","reflection","semantic","procedural"]`)})
	}
	return &detour{"memory_list", jsontext.JoinMembers(asked), func(page json.RawMessage) json.RawMessage {
		var shown []jsontext.Member
		for _, m := range jsontext.Members(page) {
			switch m.Key {
			case "items":
				shown = append(shown, jsontext.Member{Key: "memories", Value: m.Value})
			case nextToken: // of another list
			default:
				shown = append(shown, m)
			}
		}
		return jsontext.JoinMembers(shown)
	}}
}

// erasureTag is the tag of notifications that ask a person for an erasure.
const erasureTag = "erasure-request"

// forgetting erases a memory. For a caller without the scope, a notification asks a person for that; it
// supersedes the memory, which isn't recalled from then on.
func forgetting(c core.Caller, request json.RawMessage) *detour {
	var asked struct {
		ID     string `json:"id"`
		Erase  *bool  `json:"erase"`
		Reason string `json:"reason"`
		Copies bool   `json:"copies"`
	}
	if json.Unmarshal(request, &asked) != nil || asked.ID == "" || asked.Erase != nil && !*asked.Erase {
		return nil // its own operation refuses it
	}
	if asked.Reason == "" {
		asked.Reason = "an agent asked for it"
	}
	if c.Has(core.ScopeMemoryErase) {
		request = with(with(request, jsontext.Member{Key: "erase", Value: json.RawMessage("true")}), jsontext.Member{Key: "reason", Value: jsontext.MustEncode(asked.Reason)})
		return &detour{"gate_request", request, func(decision json.RawMessage) json.RawMessage {
			status := "erased"
			if !strings.Contains(string(brief(decision, []string{"next_action"})), `"purge"`) {
				status = "kept"
			}
			return jsontext.JoinMembers(append([]jsontext.Member{{Key: "status", Value: jsontext.MustEncode(status)}}, jsontext.Members(decision)...))
		}}
	}
	text := "Erase memory " + asked.ID + ": " + asked.Reason
	if asked.Copies {
		text += " (memories with the same content too)"
	}
	return &detour{"memory_observe", jsontext.MustEncode(map[string]any{
		"kind": core.KindNotification, "title": core.Cut("An erasure is asked for: " + asked.ID), "content": text,
		"tags": []string{erasureTag}, "supersedes": []string{asked.ID},
	}), func(notification json.RawMessage) json.RawMessage {
		id := jsontext.Members(brief(notification, []string{"id"}))
		return jsontext.JoinMembers(append([]jsontext.Member{{Key: "status", Value: json.RawMessage(`"waiting"`)}}, id...))
	}}
}
