package services

import (
	"context"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/core/plugin/logs"
	"github.com/reflectory/reflectory/sdk"
)

// log answers log. A line above the limit is dropped without telling the plugin; the next
// line that is kept has the count.
func (h *Host) log(_ context.Context, r plugin.ServiceRequest, q *sdk.LogRequest) (*struct{}, error) {
	now := h.options.Now()
	dropped, ok := h.admit(r.Plugin)
	if !ok {
		return new(struct{}), nil
	}
	line := plugin.LogLine{
		Time: now, Level: "info", Plugin: r.Plugin, RunID: r.RunID, Message: q.Message, Fields: q.Fields, Dropped: dropped,
	}
	if slices.Contains(plugin.LogLevels(), q.Level) {
		line.Level = q.Level
	}
	if encoded, err := jsontext.Encode(q.Fields); err != nil || len(encoded) > plugin.MaxLogLine {
		line.Fields = map[string]any{"fields_dropped": "they are too large"}
	}
	r.Redactor.Line(&line)
	line.SetApart()
	line.Message = logs.Cut(strings.ToValidUTF8(line.Message, "\uFFFD"), plugin.MaxLogLine)
	h.options.Log(line)
	return new(struct{}), nil
}

func (h *Host) admit(name string) (dropped int, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	rate := h.rates[name]
	if rate == nil {
		rate = new(plugin.LogRate)
		h.rates[name] = rate
	}
	return rate.Admit(h.options.Now())
}

// Close reports log lines that were dropped at the end. It is idempotent.
func (h *Host) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, rate := range h.rates {
		if dropped := rate.Dropped(); dropped > 0 {
			h.options.Log(plugin.DroppedLine(name, h.options.Now(), dropped))
		}
	}
	return nil
}
