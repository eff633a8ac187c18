package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/plugin"
	"github.com/reflectory/reflectory/sdk"
)

// slowed is the health of a plugin that answered ever slower, and at last not at all.
func slowed() *host.PluginHealth {
	l := &plugin.Latency{
		Since: time.Date(2026, 3, 1, 2, 4, 0, 0, time.UTC), StepSeconds: 120, Calls: 900, Failed: 7, P50Micros: 1_400_000, P99Micros: 9_800_000,
	}
	for bound := int64(256); bound < 17_000_000; bound *= 2 {
		l.BoundsMicros = append(l.BoundsMicros, bound)
	}
	for i := range 30 {
		c := plugin.LatencyColumn{Calls: make([]int64, len(l.BoundsMicros)), P50Micros: int64(900_000 + 20_000*(i%7))}
		for row := range c.Calls {
			from, to := 8, 13
			if i > 19 && i < 26 {
				from, to = 11, 17
				c.Failed, c.P50Micros = int64(i%3), 5_200_000
			}
			if row >= from && row < to {
				c.Calls[row] = int64(2 + (row*7+i*3)%11)
			}
		}
		l.Columns = append(l.Columns, c)
	}
	return &host.PluginHealth{Instances: 3, Busy: 1, Starts: 4, Exits: 1, Kills: 3, Breaker: plugin.BreakerClosed, Latency: l}
}

// called adds pages of plugins that were called for an hour, as no test can call one, and returns
// their addresses: the list and one of them.
func (s *site) called() (list, one string) {
	summary := func(name string, h *host.PluginHealth) host.PluginSummary {
		return host.PluginSummary{Name: name, Version: "1.2.0", Kinds: []sdk.Kind{sdk.KindEvaluator}, Runtime: "process", From: "project", Digest: "sha256:4be0", Granted: []string{"host:cache"}, Health: h}
	}
	trial := slowed()
	trial.Breaker, trial.LastCause = plugin.BreakerHalfOpen, hostile[0]
	refused := summary("acme/tone-check", nil)
	refused.Problem = &core.ErrorInfo{Code: "digest_differs", Message: hostile[1]}
	quick := slowed()
	quick.Latency.Failed, quick.Latency.P50Micros, quick.Latency.P99Micros = 0, 38, 211
	d := &pluginsData{Page: operation.Page[host.PluginSummary]{Items: []host.PluginSummary{
		summary("acme/llm-style", trial), summary("acme/house-style", quick), summary("acme/sql-lint", nil), refused,
	}}}
	list, one = "/plugins/pictured/list", "/plugins/pictured/llm-style"
	s.pages.mux.HandleFunc("GET "+list, s.pages.page(page{template: "plugins.html", nav: "/plugins", load: func(v *visit) (*content, error) {
		return &content{Title: "Plugins", Data: d.draw(v)}, nil
	}}))
	s.pages.mux.HandleFunc("GET "+one, s.pages.page(page{template: "plugin.html", nav: "/plugins", load: func(*visit) (*content, error) {
		found := &host.Inspection{PluginSummary: d.Items[0]}
		return &content{Title: found.Name, Crumbs: []crumb{{"Plugins", "/plugins"}}, Data: pluginDataOf(found)}, nil
	}}))
	return list, one
}

// TestPluginLatency_HasEveryCall: the picture's numbers are all calls, those that are quicker
// than its rows in its first, and those that failed apart.
func TestPluginLatency_HasEveryCall(t *testing.T) {
	health := slowed()
	health.Latency.Columns[3].Calls[0] = 5000
	l := latencyOf(health)
	if l.P50 != "1.40 s" || l.P99 != "9.80 s" || l.Share != "0.8 %" || l.Spark == nil {
		t.Errorf("%+v", l)
	}
	c := l.heat()
	if len(c.Rows) != maxHeatRows+1 || c.Rows[0][0] != "failed" || !strings.HasPrefix(c.Rows[maxHeatRows][0], "≤ ") || c.Rows[maxHeatRows][1+3] != "5012" {
		t.Errorf("%v", c.Rows)
	}
	if svg := string(c.SVG); !strings.Contains(svg, "heat-bad-") || !strings.Contains(svg, "heat-4") || !strings.Contains(svg, "<title>failed, 02:44: 2</title>") {
		t.Errorf("%s", svg)
	}
	site := newSite(t)
	for _, target := range list(site.called()) {
		a := site.get(target.(string))
		site.wellMade(target.(string), a, site.tree(a, http.StatusOK))
	}
	if latencyOf(nil) != nil || latencyOf(&host.PluginHealth{}) != nil {
		t.Error("a plugin that wasn't called has a latency")
	}
}
