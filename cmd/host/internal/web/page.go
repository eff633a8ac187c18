package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/jsontext"
	"github.com/reflectory/reflectory/sdk"
)

// page is a page: its address and what it shows. A page's whole state is in its address, so
// anybody who opens the address again sees the same.
type page struct {
	// path is its path as a pattern of [http.ServeMux], without a method.
	path string
	// template is the file of its template, and nav its item of the navigation.
	template, nav string
	// parts are templates inside it that the script fetches and replaces separately: each
	// has the id of an element with data-live, see reflectory.js.
	parts []string
	// load calls the operations whose results it shows.
	load func(*visit) (*content, error)
}

// content is what a page shows.
type content struct {
	// Title is the page's title, and Crumbs are the pages above it.
	Title  string
	Crumbs []crumb
	// Data is what the template gets as .Data, and what a program gets as JSON. Fields only
	// for the template, such as a chart, have `json:"-"`.
	Data any
}

// crumb is a page above another.
type crumb struct{ Text, URL string }

// form is an action of a page. It is posted, and leads to a page.
type form struct {
	path string
	nav  string
	// do calls the operation, and returns the address of the next page.
	do func(*visit) (to string, err error)
	// show replaces do if the result can't be shown again, such as a secret. The answer is
	// then a page made from template.
	show     func(*visit) (*content, error)
	template string
	// ask makes the page that asks for confirmation before a form removes something; nil
	// means no confirmation. The page is at the form's path, and a link leads to it.
	ask func(*visit) (*question, error)
}

// question is a request for confirmation.
type question struct {
	Title  string  `json:"title"`
	Crumbs []crumb `json:"-"`
	// Text describes what will be done, and what can't be undone.
	Text string `json:"text"`
	// Button is the text of the button that confirms, and Back the address that leads away
	// without doing anything. Fields are sent with the form.
	Button string            `json:"button"`
	Back   string            `json:"back"`
	Fields map[string]string `json:"fields,omitempty"`
}

// view is what every template gets.
type view struct {
	content

	Version, Theme, Path string
	NoAuth               bool
	Caller               core.Caller
	Nav                  []navItem
	Host                 []string
	// JSON is the address of the page's data.
	JSON string
	// Problem is what went wrong; nil if nothing did.
	Problem *problem
	// To is the address that the browser opens by itself; "" if there is none.
	To string
	// Issuer is the issuer that can sign people in; "" if there is none.
	Issuer string
}

// page answers with a page.
func (p *Pages) page(one page) http.HandlerFunc {
	return p.known(one.nav, func(v *visit) error {
		if part := v.query("part"); part != "" {
			if !slices.Contains(one.parts, part) {
				return sdk.Errorf(sdk.NotFound, "part_not_found", "this page has no such part")
			}
			if !v.wantsJSON() {
				return v.answerPart(one.load, part)
			}
		}
		return v.answer(one.load, one.template)
	})
}

// answerPart answers with a part of a page, which is made once for all of the caller's
// pages that ask for it at the same time.
func (v *visit) answerPart(load func(*visit) (*content, error), part string) error {
	key := jsontext.MustEncode([]any{v.caller, v.URL.RequestURI(), themeOf(v.Request)})
	text, err := v.pages.parts.get(string(key), func() ([]byte, error) {
		c, err := load(v)
		if err != nil {
			return nil, err
		}
		return v.pages.render(part, v.partView(*c))
	})
	if err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = v.w.Write(text) // the caller may have gone
	return nil
}

// answer answers with the result of load, shown by a template or as JSON.
func (v *visit) answer(load func(*visit) (*content, error), template string) error {
	c, err := load(v)
	if err != nil {
		return err
	}
	if v.wantsJSON() {
		v.sendJSON(http.StatusOK, c.Data)
		return nil
	}
	v.show(http.StatusOK, template, v.view(*c))
	return nil
}

// form handles a posted form.
func (p *Pages) form(one form) http.HandlerFunc {
	return p.known(one.nav, func(v *visit) error {
		v.Body = http.MaxBytesReader(v.w, v.Body, maxForm)
		if err := v.ParseForm(); err != nil {
			return sdk.Errorf(sdk.Invalid, "form_invalid", "the form can't be read, or has more than %d bytes", maxForm)
		}
		if one.show != nil {
			return v.answer(one.show, one.template)
		}
		to, err := one.do(v)
		if err != nil {
			return err
		}
		http.Redirect(v.w, v.Request, to, http.StatusSeeOther)
		return nil
	})
}

// maxForm is the largest size of a form: a policy and the other fields.
const maxForm = 1 << 20

// question shows the page that asks for confirmation before a form.
func (p *Pages) question(one form) http.HandlerFunc {
	return p.page(page{nav: one.nav, template: "question.html", load: func(v *visit) (*content, error) {
		q, err := one.ask(v)
		if err != nil {
			return nil, err
		}
		return &content{Title: q.Title, Crumbs: q.Crumbs, Data: q}, nil
	}})
}

// lost is the page of an unknown path.
func lost(*visit) (*content, error) {
	return nil, sdk.Errorf(sdk.NotFound, "page_not_found", "There is no such page.")
}

// local returns an address of these pages unchanged, and "/" for any other address: the
// next page that a form names mustn't be on another site.
func local(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\\\r\n\t") {
		return "/"
	}
	return to
}
