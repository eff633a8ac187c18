package web

import (
	"fmt"
	"slices"
	"time"

	"github.com/reflectory/reflectory/cmd/host/internal/web/chart"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/plugin"
)

// latencyView is how long the calls of a plugin took in the last hour.
type latencyView struct {
	*plugin.Latency
	P50, P99 string
	// Share is how many of its calls failed.
	Share string
	Spark *chart.Chart
}

// latencyOf is nil if a plugin wasn't called in the last hour.
func latencyOf(h *host.PluginHealth) *latencyView {
	if h == nil || h.Latency == nil {
		return nil
	}
	l := &latencyView{Latency: h.Latency, P50: "–", P99: "–", Share: "0"}
	if l.Calls > 0 {
		l.P50, l.P99 = micros(l.P50Micros), micros(l.P99Micros)
	}
	if l.Failed > 0 {
		l.Share = fmt.Sprintf("%.1f %%", 100*float64(l.Failed)/float64(l.Calls+l.Failed))
	}
	var medians []float64
	for _, c := range l.Columns {
		if c.P50Micros > 0 {
			medians = append(medians, float64(c.P50Micros)/1000)
		}
	}
	if len(medians) > 0 {
		class := chart.Accent
		if l.Failed > 0 {
			class = chart.Warn
		}
		spark := chart.Sparkline("Milliseconds of half of the calls", medians, class)
		l.Spark = &spark
	}
	return l
}

// maxHeatRows is how many rows of latencies are drawn. If there are more, the quickest
// rows are drawn as one.
const maxHeatRows = 9

// heat draws the calls by the time of their end and by their duration, the slowest on
// top.
func (l *latencyView) heat() *chart.Chart {
	quickest := max(len(l.BoundsMicros)-maxHeatRows, 0)
	var rows []chart.HeatRow
	for i := quickest; i < len(l.BoundsMicros); i++ {
		rows = append(rows, chart.HeatRow{Name: micros(l.BoundsMicros[i])})
	}
	failed := chart.HeatRow{Name: "failed", Bad: true}
	var columns []string
	for i, c := range l.Columns {
		columns = append(columns, l.Since.Add(time.Duration(i*l.StepSeconds)*time.Second).Format("15:04"))
		failed.Counts = append(failed.Counts, c.Failed)
		for j := range rows {
			n := c.Calls[quickest+j]
			for k := 0; j == 0 && k < quickest; k++ {
				n += c.Calls[k]
			}
			rows[j].Counts = append(rows[j].Counts, n)
		}
	}
	if len(rows) > 0 {
		rows[0].Name = "≤ " + rows[0].Name
	}
	slices.Reverse(rows)
	if l.Failed > 0 {
		rows = slices.Insert(rows, 0, failed)
	}
	c := chart.Heat("Calls by duration", rows, columns, 6, "now")
	return &c
}

// micros is a duration in microseconds, to two or three figures.
func micros(n int64) string {
	switch d := time.Duration(n) * time.Microsecond; {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", n)
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(n)/1000)
	default:
		return took(n / 1000)
	}
}
