package turn

import (
	"slices"

	"github.com/reflectory/reflectory/core"
)

// resolved is a request with ids in place of handles.
func (r *turnRecord) resolved(in *core.FeedbackRequest) *core.FeedbackRequest {
	ids := make([]string, len(r.Items))
	for i := range r.Items {
		ids[i] = r.Items[i].ID
	}
	out := *in
	out.Used, out.Assumed, out.ToolOutcomes = slices.Clone(in.Used), slices.Clone(in.Assumed), slices.Clone(in.ToolOutcomes)
	for _, list := range [][]string{out.Used, out.Assumed} {
		for i := range list {
			list[i] = core.ResolveHandle(ids, list[i])
		}
	}
	for i := range out.ToolOutcomes {
		out.ToolOutcomes[i].MemoryID = core.ResolveHandle(ids, out.ToolOutcomes[i].MemoryID)
	}
	return &out
}
