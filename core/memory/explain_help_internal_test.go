package memory

import (
	"strings"
	"testing"

	"github.com/reflectory/reflectory/core"
)

// TestHelp_SaysWhatATrialShowed: help, harm, no difference, or nothing yet, and no difference before there are turns of
// both kinds.
func TestHelp_SaysWhatATrialShowed(t *testing.T) {
	g := &core.Governance{RegretBudget: 10}
	for name, c := range map[string]struct {
		effect       core.Effect
		answer, text string
	}{
		"helps":         {core.Effect{Verdict: core.EffectHelps, With: 60, Without: 20, Estimate: .4, Low: -.01, High: .7}, HelpShown, "Turns succeed more often with it than without it: of 100 turns with it, 40 more succeed"},
		"harms":         {core.Effect{Verdict: core.EffectNone, With: 60, Without: 40, Estimate: -.4, Low: -.6, High: -.2}, HelpNone, "It does harm, or at best nothing."},
		"no difference": {core.Effect{Verdict: core.EffectUndecided, With: 80, Without: 40, Low: -.2, High: .2}, HelpNone, "It only rides along. No difference could be shown in 120 turns"},
		"too costly":    {core.Effect{Verdict: core.EffectUndecided, With: 60, Without: 40, Estimate: .3, Low: -.1, High: .6}, HelpUnknown, "Turns were made without it until that had cost too much"},
		"of one kind":   {core.Effect{Verdict: core.EffectUnderTest, With: 2, Estimate: .6, Low: -1, High: 1}, HelpUnknown, "Some turns are made without it to find out, and they are too few to tell. Since the experiment began, 2 turns had it, and 0 were made without it."},
	} {
		if h := helpOf(&core.Memory{}, &c.effect, g); h.Answer != c.answer || !strings.HasPrefix(h.Text, c.text) {
			t.Errorf("%s: %+v", name, h)
		}
	}
}
