package web

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/governance"
	"github.com/reflectory/reflectory/core/host/operation"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// settingsPages are the pages of tokens and of the settings of namespaces.
func settingsPages() []page {
	return []page{
		{path: "/settings", template: "settings.html", nav: "/settings", load: loadSettings},
		{path: "/settings/governance", template: "governance.html", nav: "/settings", load: loadGovernance},
	}
}

func settingsForms() []form {
	return []form{
		{path: "/settings/tokens", nav: "/settings", show: makeToken, template: "token.html"},
		{path: "/settings/tokens/{id}/revoke", nav: "/settings", ask: askRevoke, do: func(v *visit) (string, error) {
			_, err := call[operation.Token](v, "token_revoke", &operation.TokenRevoke{ID: v.PathValue("id")})
			return "/settings", err
		}},
		{path: "/settings/governance", nav: "/settings", do: setGovernance},
		{path: "/settings/governance/unset", nav: "/settings", do: unsetGovernance},
	}
}

func settingsCrumbs() []crumb { return []crumb{{"Settings", "/settings"}} }

// settingsData is what can be set here: the tokens, and the namespaces.
type settingsData struct {
	// Tokens are a page of the tokens; nil if the caller may not see them.
	Tokens *operation.Page[operation.Token] `json:"tokens,omitempty"`
	// Namespaces are the first namespaces with memories, and Others is how many more there
	// are.
	Namespaces []memory.NamespaceCount `json:"namespaces"`
	Others     int                     `json:"other_namespaces,omitempty"`
	// Scopes are the scopes that a new token may have.
	Scopes []core.Scope `json:"-"`
	Next   string       `json:"-"`
}

// maxNamespaces is how many namespaces are offered. Others are found by their names.
const maxNamespaces = 50

func loadSettings(v *visit) (*content, error) {
	d := &settingsData{Scopes: v.caller.Scopes, Namespaces: []memory.NamespaceCount{}}
	var err error
	d.Tokens, err = optional[operation.Page[operation.Token]](v, "token_list", &operation.TokenList{
		Paging: operation.Paging{Limit: v.limit(maxRows), PageToken: v.query("page_token")},
	})
	if err != nil {
		return nil, err
	}
	if d.Tokens != nil && d.Tokens.NextPageToken != "" {
		d.Next = v.with("page_token", d.Tokens.NextPageToken)
	}
	found, err := optional[operation.Page[memory.NamespaceCount]](v, "memory_namespaces", &operation.MemoryNamespaces{})
	if err != nil {
		return nil, err
	}
	if found != nil {
		d.Namespaces = found.Items[:min(len(found.Items), maxNamespaces)]
		d.Others = len(found.Items) - len(d.Namespaces)
	}
	return &content{Title: "Settings", Data: d}, nil
}

// makeToken makes a token, which is shown only in the answer.
func makeToken(v *visit) (*content, error) {
	in := &operation.TokenNew{
		Subject: strings.TrimSpace(v.FormValue("subject")), Label: strings.TrimSpace(v.FormValue("label")),
		Namespaces: strings.FieldsFunc(v.FormValue("namespaces"), func(r rune) bool { return strings.ContainsRune(", \r\n\t", r) }),
	}
	for _, scope := range v.Form["scope"] {
		in.Scopes = append(in.Scopes, core.Scope(scope))
	}
	if days := v.FormValue("days"); days != "" {
		n, err := strconv.Atoi(days)
		if err != nil || n < 1 || n > 1000 {
			return nil, sdk.Errorf(sdk.Invalid, "expires_in_invalid", "the days are not a number from 1 to 1,000").WithDetail("field", "days")
		}
		in.ExpiresIn = int64(time.Duration(n) * 24 * time.Hour / time.Second)
	}
	made, err := call[operation.NewToken](v, "token_new", in)
	if err != nil {
		return nil, err
	}
	return &content{Title: "A new token", Crumbs: settingsCrumbs(), Data: &tokenData{made, string(made.Secret)}}, nil
}

// tokenData is a new token. Its secret is hidden when it is formatted, so that no text
// contains it by mistake; Shown is the secret itself.
type tokenData struct {
	*operation.NewToken
	Shown string `json:"-"`
}

func askRevoke(v *visit) (*question, error) {
	return &question{
		Title: "Revoke this token?", Crumbs: settingsCrumbs(),
		Text:   fmt.Sprintf("The token %s, and the logins that were made with it, stop working with the next request. This can’t be undone.", line(v.PathValue("id"), 40)),
		Button: "Revoke", Back: "/settings",
	}, nil
}

// governanceData are the settings in force in a namespace, and the settings that the
// namespace itself has.
type governanceData struct {
	*governance.Explanation
	// Locked are the fields that the namespace locks for the namespaces below it, and Version is
	// the version of its settings.
	Locked  []string `json:"locked"`
	Version string   `json:"version"`
	// Levels are the levels above, with their pages.
	Levels []crumb         `json:"-"`
	Rows   []governanceRow `json:"-"`
	// MayChange is whether the caller may change something here.
	MayChange bool `json:"-"`
}

// governanceRow is a field with its values and whether it can be set.
type governanceRow struct {
	governance.Value
	What string
	// In is the value in force; "none" if there is none. Own is the value that the namespace
	// itself sets; "" if it sets none.
	In, Own string
	// From is the page of the level that gave the value; "" for the built-in value.
	From string
	// Open is whether it can be set here: no level above locks it.
	Open bool
	// Words are the values that it can have; none means a number, from Min to Max.
	Words    []string
	Min, Max float64
}

func governanceURL(namespace string) string {
	return "/settings/governance?namespace=" + url.QueryEscape(namespace)
}

func loadGovernance(v *visit) (*content, error) {
	namespace := v.query("namespace")
	if namespace == "" {
		namespace = core.EveryNamespace
	}
	e, err := call[governance.Explanation](v, "governance_explain", &operation.GovernanceExplain{Namespace: namespace})
	if err != nil {
		return nil, err
	}
	d := &governanceData{Explanation: e, Locked: []string{}, MayChange: v.caller.Has(core.ScopeOperate)}
	for _, level := range e.Chain {
		d.Levels = append(d.Levels, crumb{level, governanceURL(level)})
	}
	own := map[string]string{}
	if e.Failure == nil { // otherwise the stored settings can't be read: see Unset
		record, err := call[governance.Record](v, "governance_get", &operation.GovernanceGet{Namespace: namespace})
		if err != nil {
			return nil, err
		}
		d.Locked, d.Version = append(d.Locked, record.Locked...), record.Version()
		for _, value := range record.Values() {
			own[value.Field] = value.Value.String()
		}
	}
	fields := governance.Fields()
	for _, value := range e.Fields {
		row := governanceRow{Value: value, In: "none", Own: own[value.Field], Open: value.LockedBy == "" || value.LockedBy == namespace}
		if value.Value != nil {
			row.In = value.Value.String()
		}
		if slices.Contains(e.Chain, value.Level) {
			row.From = governanceURL(value.Level)
		}
		if at := slices.IndexFunc(fields, func(f governance.Field) bool { return f.Name == value.Field }); at >= 0 {
			row.What, row.Words, row.Min, row.Max = fields[at].What, fields[at].Choices, fields[at].Min, fields[at].Max
		}
		d.Rows = append(d.Rows, row)
	}
	return &content{Title: "Governance", Crumbs: settingsCrumbs(), Data: d}, nil
}

// setGovernance sets a field of a level, if the level hasn't changed since its page was made.
func setGovernance(v *visit) (string, error) {
	namespace := v.FormValue("namespace")
	_, err := call[governance.Record](v, "governance_set", &operation.GovernanceSet{
		Namespace: namespace, IfVersion: v.FormValue("version"), Assignments: []string{v.FormValue("field") + "=" + strings.TrimSpace(v.FormValue("value"))},
	})
	return governanceURL(namespace), err
}

// unsetGovernance leaves a field to the levels above.
func unsetGovernance(v *visit) (string, error) {
	namespace, field := v.FormValue("namespace"), v.FormValue("field")
	if field == "" {
		return "", sdk.Errorf(sdk.Invalid, "field_missing", "no field is named").WithDetail("field", "field")
	}
	_, err := call[governance.Record](v, "governance_unset", &operation.GovernanceUnset{Namespace: namespace, IfVersion: v.FormValue("version"), Fields: []string{field}})
	return governanceURL(namespace), err
}
