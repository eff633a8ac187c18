package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// page is a page: where it is, and what it shows. A page is read, so that anybody who opens its
// address again sees the same: its whole state is in the address.
type page struct {
	// path is where it is, as [http.ServeMux] has it, without a method.
	path string
	// template is the file that shows it, and nav the item of the navigation that it is
	// below.
	template, nav string
	// parts are templates inside it that the script fetches and replaces by themselves:
	// each has the id of an element with data-live, see reflectory.js.
	parts []string
	// load calls the operations that have what it shows.
	load func(*visit) (*content, error)
}

// content is what a page shows.
type content struct {
	// Title is the page's, and Crumbs the pages above it.
	Title  string
	Crumbs []crumb
	// Data is what the template gets as .Data, and what a program gets as JSON. What is
	// only for the template, such as a chart, has `json:"-"`.
	Data any
}

// crumb is a page above another.
type crumb struct{ Text, URL string }

// form is something that can be done. It is posted, and leads to a page.
type form struct {
	path string
	nav  string
	// do calls the operation, and returns the address to go on to.
	do func(*visit) (to string, err error)
	// show does it instead of do where what came of it can't be shown again, such as a
	// secret: the answer is a page, of template.
	show     func(*visit) (*content, error)
	template string
	// ask is what a page of its own asks before a form that removes something; nil is
	// nothing. The page is at the form's path, and a link leads to it.
	ask func(*visit) (*question, error)
}

// question is what is asked before something is done.
type question struct {
	Title  string  `json:"title"`
	Crumbs []crumb `json:"-"`
	// Text says what will be done, and what can't be undone.
	Text string `json:"text"`
	// Button does it, and Back leads to where it isn't done. Fields are sent with it.
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
	// JSON is where the page's data is.
	JSON string
	// Problem is what went wrong with what was asked for; nil is nothing.
	Problem *problem
	// To is where the browser goes on by itself; "" is nowhere.
	To string
	// Issuer is who else can sign somebody in; "" is nobody.
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

// answerPart answers with a part of a page, which is made once for all pages of the same
// caller that ask for it at once.
func (v *visit) answerPart(load func(*visit) (*content, error), part string) error {
	key := core.MustJSON([]any{v.caller, v.URL.RequestURI(), themeOf(v.Request)})
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
	_, _ = v.w.Write(text) // who asked has gone
	return nil
}

// answer answers with what load returns: as a template shows it, or as JSON.
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

// form does what a form asks for.
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

// maxForm is how many bytes a form has at most: a policy, with what is around it.
const maxForm = 1 << 20

// question asks what has to be asked before a form.
func (p *Pages) question(one form) http.HandlerFunc {
	return p.page(page{nav: one.nav, template: "question.html", load: func(v *visit) (*content, error) {
		q, err := one.ask(v)
		if err != nil {
			return nil, err
		}
		return &content{Title: q.Title, Crumbs: q.Crumbs, Data: q}, nil
	}})
}

// lost is what is shown at a path that there isn't.
func lost(*visit) (*content, error) {
	return nil, sdk.Errorf(sdk.NotFound, "page_not_found", "There is no such page.")
}

// local is an address of these pages, or "/" for any other: what a form says to go on to
// must not lead elsewhere.
func local(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\\\r\n\t") {
		return "/"
	}
	return to
}
