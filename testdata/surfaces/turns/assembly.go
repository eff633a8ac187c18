package turns

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// block is a caller's block.
func block(id, category string, priority int, payload string, more object) object {
	b := object{"block_id": id, "category": category, "priority": priority, "payload": payload}
	for field, value := range more {
		b[field] = value
	}
	return b
}

// budget: the oldest turns of a long session are one block. Under a tight budget the anchor
// is whole, recall has its share, and everything that is missing is named with its reason.
func budget(t *testing.T, m *matrix) {
	each(t, m.Clients, func(t *testing.T, n int) {
		c := m.server.caller(t, fmt.Sprint("budget-", n), true)
		for i := range 12 {
			c.observe(t, fmt.Sprintf("Rule %d of the harbour: %s", i, strings.Repeat(fmt.Sprintf("quay %d is kept free. ", i), 12)))
		}
		session := fmt.Sprint("budget-", n)
		for turn := range m.Turns {
			p := c.build(t, object{"session": session, "query": "the rules of the harbour"})
			if p.Chars > p.Policy.MaxChars {
				t.Errorf("turn %d has %d of %d characters", p.Turn, p.Chars, p.Policy.MaxChars)
			}
			c.feedback(t, p, "success", object{"summary": fmt.Sprintf("Step %d is done. %s", turn+1, strings.Repeat("ä", 900))})
		}
		whole := c.build(t, object{"session": session, "query": "the rules of the harbour"})
		if earlier := whole.payload("earlier_turns"); !strings.Contains(earlier, `<turn n="1">Step 1 is done.</turn>`) {
			t.Errorf("the oldest turns are told as %q", earlier)
		}
		const most = 3000
		rules := strings.Repeat("Never leave a ship. ", 20)
		blocks := []object{block("rules", "safety", 10, rules, object{"anchor": true})}
		for i := range 10 {
			blocks = append(blocks, block(fmt.Sprint("task-", i), "workflow", 100+i, strings.Repeat("load ", 80), nil))
		}
		p := c.build(t, object{"session": session, "query": "the rules of the harbour", "blocks": blocks, "policy": object{"max_chars": most, "max_blocks": 40}})
		fits(t, p, most)
		if p.Used[0].ID != "rules" || p.Used[0].Payload != rules {
			t.Errorf("the anchor is %+v", p.Used[0])
		}
		for _, category := range []string{"memory_recall", "workflow", "session_injection"} {
			if !slices.ContainsFunc(p.Used, func(u used) bool { return u.Category == category }) {
				t.Errorf("nothing of %s is in the prompt", category)
			}
		}
	})
}

// fits checks that a prompt is within its budget, and names everything that it leaves out.
func fits(t *testing.T, p *prompt, most int) {
	t.Helper()
	chars := 0
	seen := map[string]bool{}
	for _, u := range p.Used {
		chars += u.Chars
		if u.Chars != utf8.RuneCountInString(u.Payload) {
			t.Errorf("block %s has %d characters, not %d", u.ID, utf8.RuneCountInString(u.Payload), u.Chars)
		}
		seen[u.ID] = true
	}
	if chars != p.Chars || chars > most {
		t.Errorf("%d of %d characters are counted as %d", chars, most, p.Chars)
	}
	budget := 0
	for _, d := range p.Dropped {
		if seen[d.ID] {
			t.Errorf("block %s is there twice", d.ID)
		}
		if seen[d.ID] = true; d.Reason == "budget" {
			budget++
		}
	}
	if budget == 0 {
		t.Errorf("nothing was dropped for the budget: %+v", p.Dropped)
	}
	for i := range 10 {
		if id := fmt.Sprint("task-", i); !seen[id] {
			t.Errorf("block %s is neither used nor dropped", id)
		}
	}
}

// roles: a complex task, a tool that failed and another failure have different roles, and a
// turn after a success has none.
func roles(t *testing.T, m *matrix) {
	each(t, m.Clients, func(t *testing.T, n int) {
		c := m.server.caller(t, fmt.Sprint("roles-", n), false)
		session := fmt.Sprint("roles-", n)
		turn := func(complexity float64, profile string) *prompt {
			t.Helper()
			p := c.build(t, object{"session": session, "query": "how is the pump started?", "complexity": complexity})
			switch {
			case profile == "" && (p.RoleMix != nil || p.Policy.Mode != "classified"):
				t.Errorf("turn %d has the roles %+v", p.Turn, p.RoleMix)
			case profile != "" && (p.RoleMix == nil || p.RoleMix.Profile != profile || p.RoleMix.Reason == "" || p.payload("role_mix:hard") == "" || p.Policy.Mode != "hybrid"):
				t.Errorf("turn %d has the roles %+v, not %s, of\n%s", p.Turn, p.RoleMix, profile, p.Text)
			}
			return p
		}
		for range m.Turns / 4 {
			c.feedback(t, turn(.9, "architecture_reflection"), "failure", object{"failure_class": "tool_error"})
			c.feedback(t, turn(.9, "debug_reflection"), "failure", object{"failure_class": "timeout"})
			c.feedback(t, turn(.5, "recovery_reflection"), "success", nil)
			c.feedback(t, turn(.5, ""), "success", nil)
		}
	})
}

// modes: the same blocks under three modes. Hybrid adds its roles to what classified has, and
// single keeps the anchors and the first block. A block that two of the prompts have is the
// same in both, byte for byte.
func modes(t *testing.T, m *matrix) {
	each(t, m.Clients, func(t *testing.T, n int) {
		c := m.server.caller(t, fmt.Sprint("modes-", n), true)
		prompts := map[string]map[string]string{}
		for _, mode := range []string{"classified", "single", "hybrid"} {
			p := c.build(t, object{"session": fmt.Sprintf("modes-%d-%s", n, mode), "turn": 1, "policy": object{"mode": mode}, "blocks": []object{
				block("law", "safety", 1, "Do no harm.", object{"anchor": true}),
				block("task", "workflow", 300, "Paint the boat.", nil),
				block("tools", "tooling", 200, "<tools><tool>brush</tool></tools>", object{"format": "xml"}),
				block("note", "knowledge", 100, "Boats are wet.", object{"stable": true}),
			}})
			prompts[mode] = map[string]string{}
			for _, u := range p.Used {
				if !strings.HasPrefix(u.ID, "role_mix:") {
					prompts[mode][u.ID] = u.Digest
				} else if mode != "hybrid" {
					t.Errorf("%s has the block %s", mode, u.ID)
				}
			}
			if (p.RoleMix != nil) != (mode == "hybrid") {
				t.Errorf("%s has the roles %+v", mode, p.RoleMix)
			}
		}
		whole := prompts["classified"]
		if len(whole) != 4 || len(prompts["hybrid"]) != 4 || len(prompts["single"]) != 2 || prompts["single"]["law"] == "" || prompts["single"]["task"] == "" {
			t.Errorf("the modes have %v", prompts)
		}
		for mode, blocks := range prompts {
			for id, digest := range blocks {
				if whole[id] != digest {
					t.Errorf("block %s is another one under %s", id, mode)
				}
			}
		}
	})
}
