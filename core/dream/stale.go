package dream

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/reflectory/reflectory/core"
)

// ReasonStale is the reason of a step that archives a stale memory.
const ReasonStale = "stale"

// keptNotifications is how many notifications a namespace keeps out of the archive.
const keptNotifications = 50

// notifications archives all but the newest notifications.
func (p *planner) notifications() {
	n := 0
	for _, d := range p.drafts {
		if d.Kind != core.KindNotification || d.State == core.StateRevalidatePending {
			continue
		}
		if n++; n > keptNotifications && !d.kept() {
			s := p.step(StepArchive, "old_notification", map[string]string{"newer": strconv.Itoa(n - 1)}, d)
			s.move(d, core.StateArchived)
		}
	}
}

// stale archives old memories that nobody recalled and that matter little, those that matter least first, up
// to a limit of a tenth of the namespace's memories. So with fewer than ten memories it archives nothing.
func (p *planner) stale() {
	if !p.Turned {
		return
	}
	type candidate struct {
		*draft
		importance float64
	}
	var list []candidate
	live := p.ArchivedLately
	for _, d := range p.drafts {
		if d.Kind != core.KindNotification && d.State.Live() {
			live++
		}
		hours := p.At.Sub(d.CreatedAt).Hours()
		if !d.free() || d.named || d.AccessCount > 0 || d.kept() || hours <= p.Options.staleHours() {
			continue
		}
		if e := p.Options.Effective(d.Importance, d.AccessCount, hours); e < p.Options.staleImportance() {
			list = append(list, candidate{d, e})
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.importance, b.importance), newerDraft(b.draft, a.draft))
	})
	if most := max(0, live/10-p.ArchivedLately); !p.Options.Force && len(list) > most {
		list = list[:most]
	}
	for _, c := range list {
		s := p.step(StepArchive, ReasonStale, map[string]string{
			"effective_importance": strconv.FormatFloat(c.importance, 'f', 4, 64),
			"age_hours":            strconv.FormatFloat(p.At.Sub(c.CreatedAt).Hours(), 'f', 1, 64),
		}, c.draft)
		s.move(c.draft, core.StateArchived)
	}
}
