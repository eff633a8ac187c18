package operation

import (
	"encoding/base64"
	"encoding/json"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/sdk"
)

// Lists come in pages. A page's token names the place where the next one begins, together
// with a digest of what was asked for: with another filter it would leave things out, or
// show them twice, so it is refused there. To callers it is opaque.

const (
	// DefaultLimit is how many things a page has where the request doesn't say, and
	// MaxLimit how many it has at most.
	DefaultLimit = 50
	MaxLimit     = 200
	// maxToken bounds a page's token: places are a namespace and an id.
	maxToken = 2 << 10
)

// Page is a part of a list.
type Page[T any] struct {
	Items []T `json:"items"`
	// NextPageToken gives the page that follows; "" is the end.
	NextPageToken string `json:"next_page_token,omitempty"`
}

// Paging is what every list takes.
type Paging struct {
	// Limit is how many things a page has at most, from 1 to [MaxLimit]; 0 is
	// [DefaultLimit].
	Limit int `json:"limit,omitempty"`
	// PageToken goes on after an earlier page: it is that one's next_page_token.
	PageToken string `json:"page_token,omitempty"`
}

// place is what a token holds.
type pagePlace struct {
	At     string `json:"a"`
	Filter string `json:"f"`
}

// open returns where the page begins, "" for the first one, and how many things it has.
// The filter is all that decides what is in the list.
func (p Paging) open(filter any) (at string, limit int, err error) {
	limit = p.Limit
	if limit == 0 {
		limit = DefaultLimit
	}
	if limit < 1 || limit > MaxLimit {
		return "", 0, sdk.Errorf(sdk.Invalid, "limit_invalid", "limit is %d, not from 1 to %d", p.Limit, MaxLimit).WithDetail("field", "limit")
	}
	if p.PageToken == "" {
		return "", limit, nil
	}
	var place pagePlace
	text, err := base64.RawURLEncoding.DecodeString(p.PageToken)
	if err == nil && len(text) <= maxToken {
		err = json.Unmarshal(text, &place)
	}
	if err != nil || place.At == "" || place.Filter != filterDigest(filter) {
		return "", 0, badToken()
	}
	return place.At, limit, nil
}

func badToken() error {
	return sdk.Errorf(sdk.Invalid, "invalid_page_token", "the page token is none that a list with this filter gave").
		WithHint("give next_page_token as it was, with the same filter; or begin again without one").WithDetail("field", "page_token")
}

// pageOf is a page of a list: at is where the next one begins, "" for none.
func pageOf[T any](items []T, at string, filter any) *Page[T] {
	p := &Page[T]{Items: orEmpty(items)}
	if at != "" {
		p.NextPageToken = base64.RawURLEncoding.EncodeToString(core.MustJSON(pagePlace{at, filterDigest(filter)}))
	}
	return p
}

// filterDigest names a filter: enough of it to tell one from another.
func filterDigest(filter any) string { return core.Digest(core.MustJSON(filter))[7:23] }
