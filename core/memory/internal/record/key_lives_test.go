package record

import (
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
)

// TestLayoutOfLives checks the table in core/store/FORMAT.md.
func TestLayoutOfLives(t *testing.T) {
	k := &core.Knowledge{ID: "k", Namespace: "a/b", CreatedAt: time.Unix(0, 1)}
	for want, got := range map[string][]byte{
		"turn/s/\x00\x00\x00\x00\x00\x00\x01\x02": TurnRecordKey("s", 258),
		"session/s":                SessionKey("s"),
		"memory-session/m/s":       UserKey("m", "s"),
		"gate-decision/d":          decisionKey("d"),
		"gate-decision-memory/m/d": DecisionMemoryKey("m", "d"),
		"memory-trial/m":           TrialKey("m"),
		"promotion/m":              PromotionKey("m"),
		"knowledge/k":              KnowledgeKey("k"),
		"knowledge-purged/k":       KnowledgePurgedKey("k"),
		"knowledge-namespace/a/b\x00\xff\xff\xff\xff\xff\xff\xff\xfek": KnowledgeIndexKey(k),
	} {
		if string(got) != want {
			t.Errorf("key %q, want %q", got, want)
		}
	}
}
