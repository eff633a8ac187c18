package knowledge

import (
	"encoding/json"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/memory/internal/record"
)

const (
	// summaryRunes is how many characters of the content are in the pattern (see
	// [Pattern]), which is the summary if no model wrote one.
	summaryRunes = 280
	// maxSummaryRunes bounds what a model writes.
	maxSummaryRunes = 4000
)

// Promotion is the record of how a memory became knowledge.
type Promotion struct {
	MemoryID    string `json:"memory_id"`
	KnowledgeID string `json:"promoted_to_knowledge_id"`
	// Decision is the id of the gate's decision.
	Decision string `json:"decision"`
	Summary  string `json:"reusable_pattern_summary"`
}

// PutPromotion writes the record of a promotion, with a salt because it has content.
func PutPromotion(t *record.Tx, namespace string, p *Promotion) error {
	salt, err := t.NewSalt()
	if err != nil {
		return err
	}
	return t.Write(namespace, record.PromotionKey(p.MemoryID), jsontext.MustEncode(struct {
		*Promotion
		Salt string `json:"salt"`
	}{p, salt}))
}

// ReadPromotion returns nil if the memory wasn't promoted.
func ReadPromotion(r core.Reader, memoryID string) (*Promotion, error) {
	value, found, err := r.Get(record.PromotionKey(memoryID))
	if err != nil || !found {
		return nil, err
	}
	var p Promotion
	if err := json.Unmarshal(value, &p); err != nil {
		return nil, record.Damaged(record.PromotionPrefix+memoryID, err)
	}
	return &p, nil
}

// Pattern is the reusable pattern of a memory without a summarizer: its title
// and the beginning of its content.
func Pattern(m *core.Memory) string {
	return m.Title + "\n" + firstRunes(m.Content, summaryRunes)
}

// SummaryOf is a model's summary of what is reusable in a memory, as it is stored: valid
// UTF-8, trimmed and bounded.
func SummaryOf(text string) string {
	return firstRunes(strings.TrimSpace(strings.ToValidUTF8(text, "�")), maxSummaryRunes)
}

// firstRunes is the start of a text.
func firstRunes(s string, most int) string {
	count := 0
	for i := range s {
		if count == most {
			return s[:i]
		}
		count++
	}
	return s
}
