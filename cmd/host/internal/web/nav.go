package web

import (
	"fmt"

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

// sections are the parts of the navigation. Each is shown to callers that may call the
// operation of its first page.
var sections = []struct {
	name, url, icon, operation string
	apart                      bool
}{
	{"Overview", "/", "overview", "run_list", false},
	{"Runs", "/runs", "runs", "run_list", false},
	{"Memory", "/memory", "memory", "memory_list", false},
	{"Sessions", "/sessions", "sessions", "session_list", false},
	{"Decisions", "/decisions", "decisions", "decision_list", false},
	{"Jobs", "/jobs", "jobs", "job_list", false},
	{"Dream plans", "/dream", "dream", "dream_list", true},
	{"Snapshots", "/snapshots", "snapshots", "snapshot_list", false},
	{"Plugins", "/plugins", "plugins", "plugin_list", false},
	{"Audit", "/audit", "audit", "audit_streams", false},
	{"Settings", "/settings", "settings", "token_list", false},
}

// may reports whether the caller has a scope that an operation needs.
func (v *visit) may(name string) bool {
	o, err := operation.Find(name)
	return err == nil && o.May(v.caller)
}

// navigation is the navigation as the caller sees it: the pages that the caller may open,
// and what needs attention there.
func (v *visit) navigation() []navItem {
	var items []navItem
	for _, s := range sections {
		if !v.may(s.operation) {
			continue
		}
		item := navItem{Text: s.name, URL: s.url, Icon: s.icon, Current: v.nav == s.url, Apart: s.apart}
		if s.url == "/memory" && v.may("memory_pending") {
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
		return "" // the page of approvals shows what is wrong
	case found.NextPageToken != "":
		return fmt.Sprint(most, "+")
	}
	return fmt.Sprint(len(found.Items))
}

// tripped is how many plugins have a breaker that isn't closed.
func (v *visit) tripped() string {
	n := 0
	for _, h := range v.pages.config.Host.Databases.PluginHealth() {
		if h.Breaker != plugin.BreakerClosed {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// hostLines describe this host.
func (v *visit) hostLines() []string {
	lines := []string{"Up " + ago(v.pages.config.Now().Sub(v.pages.began))}
	if v.caller.Subject != "" {
		lines = append(lines, "Signed in as "+line(v.caller.Subject, 40))
	}
	return lines
}

// pages are all pages. Each part of the product has its pages in a file with the part's
// name.
func pages() []page {
	return joined(overviewPages(), runPages(), memoryPages(), approvalPages(), knowledgePages(), sessionPages(), decisionPages(), jobPages(),
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
