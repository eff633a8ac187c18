package web

// overviewPages are the first page that somebody sees.
func overviewPages() []page {
	return []page{{path: "/{$}", template: "runs.html", nav: "/", parts: []string{"runs-list"}, load: loadRuns}}
}
