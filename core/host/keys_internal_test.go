package host

import (
	"strings"
	"testing"
)

// A variable that has no secret is named once, with why, and never with its value.
func TestKeys_WarnedOfOnce(t *testing.T) {
	for value, why := range map[string]string{
		"EMPTY": "placeholder", "none": "placeholder", "ollama": "placeholder", "sk-no-key-required": "placeholder", "your-api-key-here": "placeholder",
		" dummy\n": "placeholder", "local-1": "fewer than 16 characters", "a1b2c3d4e5f6g7h": "fewer than 16 characters",
		"a1b2c3d4e5f6g7h8": "", "sk-proj-4fGh7kQ2mN8vB1cX": "",
	} {
		var notices []string
		p := &Plugins{config: &Config{Notices: func(n Notice) { notices = append(notices, n.Level+" "+n.Message) }}}
		for range 3 {
			p.warnOfKeys([]string{"THE_KEY=" + value})
		}
		switch {
		case why == "" && len(notices) == 0:
		case len(notices) != 1 || why == "" || !strings.HasPrefix(notices[0], "warn the key in THE_KEY ") || !strings.Contains(notices[0], why) || strings.Contains(notices[0], strings.TrimSpace(value)+" "):
			t.Errorf("%q: %q", value, notices)
		}
	}
}
