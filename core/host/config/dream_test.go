package config_test

import (
	"testing"

	"github.com/reflectory/reflectory/core/dream"
)

// TestDream_IsWhatTheSettingsSay, and empty if they say nothing.
func TestDream_IsWhatTheSettingsSay(t *testing.T) {
	c, _, err := load(t, "", nil, nil)
	if err != nil || c.Dream() != (dream.Options{}) {
		t.Errorf("without settings: %+v, %v", c.Dream(), err)
	}
	const file = "settings: {dream: {merges: false, keep_phrase: true, strategy: manual, stale: all, stale_after: 14d, decay: linear, judge: acme/judge}}\n"
	c, _, err = load(t, file, map[string]string{"REFLECTORY_DREAM_RANGES": "true", "REFLECTORY_DREAM_STALE_BELOW": "0.1", "REFLECTORY_DREAM_DECAY": "step:720h"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := dream.Options{SkipMerges: true, KeepPhrase: true, Ranges: true, Strategy: dream.Manual, Stale: dream.StaleAll, StaleAfterHours: 336, StaleBelow: .1, Decay: "step:720h"}
	if got := c.Dream(); got != want || c.DreamJudge.Value != "acme/judge" {
		t.Errorf("%+v, judge %s", got, c.DreamJudge.Value)
	}
	if o := c.DreamDecay.Origin; o != "environment REFLECTORY_DREAM_DECAY" {
		t.Errorf("the decay comes from %s", o)
	}
	for variable, value := range map[string]string{
		"DATES": "maybe", "STALE_AFTER": "0", "STALE_BELOW": "-1", "DECAY": "power_law:x", "STRATEGY": "best", "STALE": "none", "JUDGE": "no name",
	} {
		if _, _, err := load(t, "", map[string]string{"REFLECTORY_DREAM_" + variable: value}, nil); err == nil {
			t.Errorf("%s may be %q", variable, value)
		}
	}
}
