package web

import (
	"cmp"
	"math"
	"net/http"
	"strconv"

	"github.com/reflectory/reflectory/sdk"
)

// problem is the reason why something couldn't be shown or done.
type problem struct {
	Status  int            `json:"status"`
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Hint    string         `json:"hint,omitempty"`
	Errors  []*problem     `json:"errors,omitempty"`
	Details map[string]any `json:"details,omitempty"`
	// Title is the heading of the page, and Link leads to what the hint names.
	Title string `json:"-"`
	Link  *crumb `json:"-"`
}

// classes are the statuses and headings of the classes of errors.
var classes = map[sdk.Code]struct {
	status int
	title  string
}{
	sdk.Invalid:      {http.StatusUnprocessableEntity, "This can’t be used"},
	sdk.NotFound:     {http.StatusNotFound, "Not found"},
	sdk.Conflict:     {http.StatusConflict, "It has changed"},
	sdk.Denied:       {http.StatusForbidden, "Not allowed"},
	sdk.Exhausted:    {http.StatusTooManyRequests, "Too much"},
	sdk.Timeout:      {http.StatusGatewayTimeout, "It took too long"},
	sdk.Cancelled:    {http.StatusConflict, "Cancelled"},
	sdk.Unavailable:  {http.StatusServiceUnavailable, "Not available now"},
	sdk.Incompatible: {http.StatusConflict, "Another version"},
}

// problemOf is an error as a page shows it. The message of an internal error isn't shown:
// it may contain anything.
func problemOf(err error) *problem {
	e := sdk.AsError(err)
	class, known := classes[e.Code]
	if !known {
		return &problem{
			Status: http.StatusInternalServerError, Code: string(sdk.Internal), Title: "This went wrong",
			Message: "The server couldn’t do this, and that is a defect.", Hint: "Its log has the cause.",
		}
	}
	return &problem{
		Status: class.status, Title: class.title, Code: cmp.Or(e.Reason, string(e.Code)), Message: line(e.Message, maxMessage), Hint: e.Hint,
		Details: e.Details, Link: linkOf(e.Try),
	}
}

// maxMessage is how much of a message is shown, in characters.
const maxMessage = 2000

// linkOf is the page on which a person can follow a hint; nil if there is none.
func linkOf(a *sdk.Action) *crumb {
	if a == nil {
		return nil
	}
	for _, p := range a.Args {
		if id, is := p.Value.(string); is && a.Verb == "runs show" {
			return &crumb{"Run " + short(id), "/runs/" + id}
		}
	}
	return nil
}

// refuse answers with an error. A status of 0 means the status of the error's class.
func (v *visit) refuse(status int, err error) {
	p := problemOf(err)
	if status != 0 {
		p.Status = status
	}
	if wait := sdk.RetryAfter(err); wait > 0 {
		v.w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	}
	if v.wantsJSON() {
		v.sendJSON(p.Status, p)
		return
	}
	view := v.view(content{Title: p.Title})
	view.Problem = p
	v.show(p.Status, "problem.html", view)
}
