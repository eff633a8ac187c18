package web

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
)

// Numbers and times as the pages show them. Times are UTC.

// short is the beginning of an id, long enough to distinguish the id from others on a page.
func short(id string) string {
	if len(id) <= 13 {
		return id
	}
	return id[:13] + "…"
}

// timeOf is a time as an element, in the shortest clear form: the time of day for today,
// the day and the time for this year, and otherwise the date.
func timeOf(t, now time.Time) template.HTML {
	if t.IsZero() {
		return `<span class="dim">never</span>`
	}
	t, now = t.UTC(), now.UTC()
	layout := "2 Jan 2006"
	switch {
	case t.Year() == now.Year() && t.YearDay() == now.YearDay():
		layout = "15:04:05"
	case t.Year() == now.Year():
		layout = "2 Jan 15:04"
	}
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s">%s</time>`, t.Format(time.RFC3339Nano), t.Format("2006-01-02 15:04:05.000 UTC"), t.Format(layout))) //nolint:gosec // it is made of times only
}

// ago is how long something took, or how long ago it was, in one unit.
func ago(d time.Duration) string {
	switch {
	case d < 0:
		return "now"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// took is a duration in milliseconds, to three figures.
func took(ms int64) string {
	switch d := time.Duration(ms) * time.Millisecond; {
	case d < time.Second:
		return fmt.Sprintf("%d ms", ms)
	case d < 10*time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.1f min", d.Minutes())
	default:
		return fmt.Sprintf("%.1f h", d.Hours())
	}
}

// cost is US dollars, in cents below one.
func cost(usd float64) string {
	switch {
	case usd == 0:
		return "0"
	case usd < 0.0001:
		return "< 0.01 ¢"
	case usd < 0.01:
		return fmt.Sprintf("%.2f ¢", usd*100)
	case usd < 1:
		return fmt.Sprintf("%.1f ¢", usd*100)
	}
	return "$" + strconv.FormatFloat(usd, 'f', 2, 64)
}

// score is a number from 0 to 1, to two places. A score that was lowered may be below 0.
func score(s float64) string {
	if s < 0 {
		return "−" + score(-s)
	}
	return strings.TrimPrefix(strconv.FormatFloat(s, 'f', 2, 64), "0")
}

// decimals is a number to three places, with a minus sign as people write it.
func decimals(n float64) string {
	return strings.Replace(strconv.FormatFloat(n, 'f', 3, 64), "-", "−", 1)
}

// scoreClass is the colour of a score. It is shown next to the number, never alone.
func scoreClass(s float64, accepted bool) string {
	switch {
	case accepted:
		return "ok"
	case s >= 0.5:
		return "warn"
	}
	return "bad"
}

// percent is a share, from 0 to 1, in percent.
func percent(share float64) string { return strconv.Itoa(int(share*100 + 0.5)) }

// count is a whole number of any integer type, with its thousands separated.
func count(n any) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// byteSize is a number of bytes in a suitable unit.
func byteSize(n int64) string {
	size, units := float64(n), []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	for size >= 1024 && len(units) > 1 {
		size, units = size/1024, units[1:]
	}
	if units[0] == "bytes" {
		return count(n) + " bytes"
	}
	return strconv.FormatFloat(size, 'f', 1, 64) + " " + units[0]
}

// plural is a number with its noun, which gets an s unless the number is 1.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return count(n) + " " + noun + "s"
}

// list makes a list of its arguments.
func list(values ...any) []any { return values }

// tag is a word with a colour and a shape that shows a state.
type tag struct {
	Text, Class string
	Live        bool
}

// tags are the classes of the words that are shown as tags. Other words have none.
var tags = map[string]string{
	"passed": "ok", "exhausted": "warn", "raised": "warn", "error": "bad", "cancelled": "", "running": "info", "interrupted": "warn",
	"queued": "", "completed": "ok", "failed": "bad",
	"active": "ok", "open": "info", "cooling": "warn", "revalidate": "warn", "revalidate_pending": "warn", "promoted": "violet", "archived": "", "superseded": "", "rejected": "bad", "purged": "bad",
	"success": "ok", "partial": "warn", "failure": "bad", "promote": "violet", "demote": "warn", "retain": "ok", "obsolete": "warn",
	"allow": "ok", "deny": "bad", "escalate": "warn", "defer": "info", "ready": "ok", "valid": "ok", "invalid": "bad", "applied": "ok", "planned": "info", "undone": "",
	"expired": "", "revoked": "bad",
}

// tagOf is a status as a tag.
func tagOf(status any) tag {
	text := fmt.Sprint(status)
	return tag{Text: line(text, 40), Class: tags[text], Live: text == "running"}
}

// stopped is why a run stopped, and which of its loops are exhausted, for next to its status.
func stopped(reason core.StopReason, loops []string) string {
	const most = 3
	text := string(reason)
	if len(loops) > 0 {
		names := strings.Join(loops[:min(len(loops), most)], ", ")
		if more := len(loops) - most; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		text = strings.TrimPrefix(text+", exhausted: "+names, ", ")
	}
	return line(text, 200)
}

// tagged is a text as a tag with a given colour.
func tagged(text, class string) tag { return tag{Text: text, Class: class} }
