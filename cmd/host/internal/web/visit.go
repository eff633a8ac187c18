package web

import (
	"bytes"
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/access"
	"github.com/reflectory/reflectory/core/host"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// visit is a request of an authenticated caller.
type visit struct {
	*http.Request
	w      http.ResponseWriter
	pages  *Pages
	caller core.Caller
	nav    string
	// room is how many bytes of long texts the page may still show: see [visit.long].
	room int
}

// known answers a request of an authenticated caller, and asks others to sign in.
func (p *Pages) known(nav string, do func(*visit) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := &visit{Request: r, w: w, pages: p, nav: nav, room: maxLong}
		caller, err := p.config.Authenticate(r)
		switch {
		case access.IsUnauthenticated(err) && v.wantsJSON():
			v.refuse(http.StatusUnauthorized, sdk.Errorf(sdk.Denied, "unauthenticated", "The request has no valid credentials."))
		case access.IsUnauthenticated(err):
			http.Redirect(w, r, "/login"+after(r), http.StatusSeeOther)
		case err != nil:
			p.unavailable(w, r)
		default:
			v.caller, v.Request = caller, r.WithContext(core.WithCaller(r.Context(), caller))
			err := visitOfRequest(r).Admit(r.Context(), caller, r.Method == http.MethodGet || r.Method == http.MethodHead)
			if err == nil {
				err = do(v)
			}
			if err != nil {
				v.refuse(0, err)
			}
		}
	}
}

// after is the query of the sign-in page that leads back to the requested page.
func after(r *http.Request) string {
	if r.Method != http.MethodGet || r.URL.RequestURI() == "/" {
		return ""
	}
	return "?" + url.Values{"to": {r.URL.RequestURI()}}.Encode()
}

// call calls an operation for the caller. An operation that may take long makes a job.
func call[Out any](v *visit, name string, in any) (*Out, error) {
	o, err := operation.Find(name)
	if err != nil {
		return nil, err
	}
	queued, _ := o.AsJob()
	out, err := queued.Do(v.Context(), operation.Call{Host: v.pages.config.Host}, in)
	if err != nil {
		return nil, err
	}
	typed, is := out.(*Out)
	if !is {
		return nil, sdk.Errorf(sdk.Internal, "result_type", "operation %s gives a %T, not a %T", name, out, typed)
	}
	return typed, nil
}

// optional is call for an optional part of a page. The part is left out, and the result is nil,
// if the caller may not see it, or if it would concern tenants of several databases.
func optional[Out any](v *visit, name string, in any) (*Out, error) {
	return optionally(call[Out](v, name, in))
}

// optionally is a result that is nil, without an error, if [optional] leaves its part out.
func optionally[Out any](out *Out, err error) (*Out, error) {
	if sdk.CodeOf(err) == sdk.Denied || sdk.ReasonOf(err) == host.TenantsApart {
		return nil, nil
	}
	return out, err
}

// query is a field of the address.
func (v *visit) query(name string) string { return v.URL.Query().Get(name) }

// number is a field of the address that is a number; 0 if it is missing or isn't a number.
func (v *visit) number(name string) int {
	n, _ := strconv.Atoi(v.query(name))
	return n
}

// maxRows is how many rows a page lists.
const maxRows = 50

// limit is how many items are listed: as many as the request asks for, but on a page not more
// than the given number, which is also the default.
func (v *visit) limit(most int) int {
	n := cmp.Or(v.number("limit"), most)
	if v.wantsJSON() {
		return n
	}
	return min(n, most)
}

// with is the address of this page with other fields, given as alternating names and values;
// the value "" removes a field.
func (v *visit) with(pairs ...string) string {
	q := v.URL.Query()
	q.Del("part")
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
		if pairs[i+1] == "" {
			q.Del(pairs[i])
		}
	}
	if len(q) == 0 {
		return v.URL.EscapedPath()
	}
	return v.URL.EscapedPath() + "?" + q.Encode()
}

// wantsJSON reports whether the caller is a program that wants JSON.
func (v *visit) wantsJSON() bool {
	accept := v.Header.Get("Accept")
	return v.query("format") == "json" || strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html")
}

// sendJSON answers a program.
func (v *visit) sendJSON(status int, data any) {
	text, err := jsontext.Print(data)
	if err != nil {
		http.Error(v.w, "the data can't be encoded", http.StatusInternalServerError)
		return
	}
	v.w.Header().Set("Content-Type", "application/json")
	v.w.WriteHeader(status)
	_, _ = v.w.Write(text) // the caller may have gone
}

// view is what the template of a page gets.
func (v *visit) view(c content) view {
	all := v.partView(c)
	all.Version, all.NoAuth, all.Theme, all.Nav, all.Host = v.pages.config.Version, v.pages.config.NoAuth, themeOf(v.Request), v.navigation(), v.hostLines()
	return all
}

// partView is what the template of a part of a page gets, without anything around the part.
func (v *visit) partView(c content) view {
	return view{content: c, Caller: v.caller, Path: v.with(), JSON: v.with("format", "json")}
}

// show answers with what a template makes of a view.
func (v *visit) show(status int, name string, data view) { v.pages.show(v.w, status, name, data) }

// show answers with a template's output, in which all text is visible.
func (p *Pages) show(w http.ResponseWriter, status int, name string, data view) {
	text, err := p.render(name, data)
	if err != nil {
		http.Error(w, "the page can't be made", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text) //nolint:gosec // html/template escaped it; the caller may have gone
}

// render returns a template's output, in which all text is visible.
func (p *Pages) render(name string, data view) ([]byte, error) {
	all, err := p.templates()
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := all.ExecuteTemplate(&text, name, data); err != nil {
		return nil, err
	}
	return visible(text.Bytes()), nil
}
