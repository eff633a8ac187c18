package web

import (
	"fmt"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/core/plugin"
)

// navItem is an entry of the navigation.
type navItem struct {
	Text, URL, Icon string
	// Current is whether the page is below it. Count is how many things below it need
	// attention; "" if none do.
	Current bool
	Count   string
	// Apart begins a new group.
	Apart bool
}

// sections are the parts of the navigation. Each is shown to callers that have a scope that
// its pages need.
var sections = []struct {
	name, url, icon string
	scope           core.Scope
	apart           bool
}{
	{"Overview", "/", "overview", core.ScopeRun, false},
	{"Runs", "/runs", "runs", core.ScopeRun, false},
	{"Memory", "/memory", "memory", core.ScopeMemoryRead, false},
	{"Decisions", "/decisions", "decisions", core.ScopePolicy, false},
	{"Jobs", "/jobs", "jobs", core.ScopeRun, false},
	{"Dream plans", "/dream", "dream", core.ScopeMemoryRead, true},
	{"Snapshots", "/snapshots", "snapshots", core.ScopeMemoryRead, false},
	{"Plugins", "/plugins", "plugins", core.ScopePlugin, false},
	{"Audit", "/audit", "audit", core.ScopeMemoryRead, false},
	{"Settings", "/settings", "settings", core.ScopeOperate, false},
}

// navigation is the navigation as who asks sees it: what they may open, and what needs them.
func (v *visit) navigation() []navItem {
	var items []navItem
	for _, s := range sections {
		if !v.caller.Has(s.scope) {
			continue
		}
		item := navItem{Text: s.name, URL: s.url, Icon: s.icon, Current: v.nav == s.url, Apart: s.apart}
		if s.url == "/memory" && v.caller.Has(core.ScopeApprove) {
			item.Count = v.waiting()
		}
		if s.url == "/plugins" {
			item.Count = v.tripped()
		}
		items = append(items, item)
	}
	return items
}

// waiting is how many reflections wait for an approval.
func (v *visit) waiting() string {
	const most = 9
	found, err := optional[operation.Page[*memory.Pending]](v, "memory_pending", &operation.MemoryPending{Paging: operation.Paging{Limit: most}})
	switch {
	case err != nil || found == nil || len(found.Items) == 0:
		return "" // the page of approvals says what is wrong
	case found.NextPageToken != "":
		return fmt.Sprint(most, "+")
	}
	return fmt.Sprint(len(found.Items))
}

// tripped is how many plugins have a breaker that isn't closed.
func (v *visit) tripped() string {
	n := 0
	for _, h := range v.pages.config.Host.PluginHealth() {
		if h.Breaker != plugin.BreakerClosed {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// hostLines say which host this is.
func (v *visit) hostLines() []string {
	lines := []string{"Up " + ago(v.pages.config.Now().Sub(v.pages.began))}
	if v.caller.Subject != "" {
		lines = append(lines, "Signed in as "+line(v.caller.Subject, 40))
	}
	return lines
}

// pages are all pages. A part of the product has its own in a file of its name.
func pages() []page {
	return joined(overviewPages(), runPages(), memoryPages(), approvalPages(), knowledgePages(), decisionPages(), jobPages(),
		dreamPages(), snapshotPages(), pluginPages(), auditPages(), searchPages(), settingsPages())
}

// forms are all forms, and texts the whole texts.
func forms() []form {
	return joined(runForms(), memoryForms(), approvalForms(), decisionForms(), jobForms(), settingsForms(), dreamForms(), auditForms())
}
func texts() []text {
	return joined(runTexts(), memoryTexts(), approvalTexts(), knowledgeTexts(), decisionTexts(), jobTexts(), snapshotTexts(), auditTexts())
}

// joined joins lists in the order in which they are given.
func joined[T any](lists ...[]T) (all []T) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}
