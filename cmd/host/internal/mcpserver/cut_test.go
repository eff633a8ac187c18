package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/host/operation/operationtest"
	"github.com/reflectory/reflectory/core/jsontext"
)

// TestCut_ListsGoOnAtTheNextItem: a recall that is too long comes in pages that have each
// memory once, in the same turn; a token is valid only for the same arguments.
func TestCut_ListsGoOnAtTheNextItem(t *testing.T) {
	w := operationtest.New(t)
	const n = 30
	for i := range n {
		operationtest.Try[core.Memory](w, "memory_observe", &core.ObserveRequest{
			Namespace: operationtest.Here, Content: fmt.Sprintf("The harbour %d %s", i, strings.Repeat("is <open> \n", 300)),
		})
	}
	session := overStdio(t, newServerOf(t, w), Agent, core.Operator(operationtest.Agent))
	args := map[string]any{"namespace": operationtest.Here, "query": "harbour", "limit": n, "session": "chat"}
	seen, pages := map[string]bool{}, 0
	for more := true; more; pages++ {
		page := call(t, session, "retrieve", args)
		if page.isError {
			t.Fatal(page.text)
		}
		if turn := member[int](t, page.text, "turn"); turn != 1 {
			t.Errorf("page %d is of turn %d", pages, turn)
		}
		for _, m := range member[[]core.Memory](t, page.text, "memories") {
			if seen[m.ID] {
				t.Errorf("%s comes twice", m.ID)
			}
			seen[m.ID] = true
		}
		more = member[bool](t, page.text, truncated)
		args[tokenArg] = member[string](t, page.text, nextToken)
		if more != (args[tokenArg] != "") || pages > n {
			t.Fatalf("page %d: %v, %q", pages, more, args[tokenArg])
		}
		if more && pages == 0 {
			other := map[string]any{"namespace": operationtest.Here, "query": "other", tokenArg: args[tokenArg]}
			if code := call(t, session, "retrieve", other).code(t); code != "invalid_page_token" {
				t.Errorf("another query: %s", code)
			}
		}
	}
	if len(seen) != n || pages < 4 {
		t.Errorf("%d memories on %d pages", len(seen), pages)
	}
}

// TestCut_TextsGoOnAtTheNextCharacter: the pieces of a long content are the content.
func TestCut_TextsGoOnAtTheNextCharacter(t *testing.T) {
	w := operationtest.New(t)
	content := strings.Repeat("ä \"quoted\" line\n", 3500)
	m := operationtest.Try[core.Memory](w, "memory_observe", &core.ObserveRequest{Namespace: operationtest.Here, Content: content})
	session := overHTTP(t, newServerOf(t, w), Agent, core.Operator(operationtest.Agent))
	var whole strings.Builder
	offset := 0
	for pieces := 1; ; pieces++ {
		piece := call(t, session, "memory_get", map[string]any{"id": m.ID, offsetArg: offset})
		whole.WriteString(member[string](t, piece.text, "content"))
		if member[string](t, piece.text, "title") == "" {
			t.Error("the rest of the memory is gone")
		}
		if !member[bool](t, piece.text, contentTruncated) {
			break
		}
		if offset = member[int](t, piece.text, nextOffset); pieces > 9 {
			t.Fatal("it doesn't end")
		}
	}
	if whole.String() != content {
		t.Errorf("%d bytes, not %d", whole.Len(), len(content))
	}
	beyond := call(t, session, "memory_get", map[string]any{"id": m.ID, offsetArg: 1 << 30})
	if beyond.isError || member[string](t, beyond.text, "content") != "" {
		t.Error(beyond.text)
	}
}

// TestShorten_StaysWithinTheRoom: whatever the value, what is left is JSON of the same kind,
// within the room, and what is short stays whole.
func TestShorten_StaysWithinTheRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := jsontext.MustEncode(map[string]any{"id": "kept", "rest": anyValue(t, 4)})
		room := rapid.IntRange(200, 5000).Draw(t, "room")
		short, missing := shorten(value, room)
		if length(short) > room {
			t.Errorf("%d characters in a room of %d", length(short), room)
		}
		var got map[string]any
		if err := json.Unmarshal(short, &got); err != nil {
			t.Fatal(err)
		}
		if got["id"] != "kept" {
			t.Errorf("the short member became %v", got["id"])
		}
		if missing != (length(value) > room) || !missing && string(short) != string(value) {
			t.Errorf("missing is %v: %d of %d", missing, length(value), room)
		}
		if marked := got[truncated] == true || got[contentTruncated] == true; missing && !marked {
			t.Errorf("nothing says that it is cut: %s", short)
		}
	})
}

func anyValue(t *rapid.T, deep int) any {
	kinds := 3
	if deep > 0 {
		kinds = 5
	}
	switch rapid.IntRange(1, kinds).Draw(t, "kind") {
	case 1:
		return strings.Repeat(rapid.SampledFrom([]string{"a", "ä", "\"", "\n", "\u2028", "\x01"}).Draw(t, "rune"), rapid.IntRange(0, 3000).Draw(t, "length"))
	case 2:
		return rapid.Float64Range(-1e9, 1e9).Draw(t, "number")
	case 3:
		return rapid.Bool().Draw(t, "bool")
	case 4:
		list := []any{}
		for range rapid.IntRange(0, 40).Draw(t, "items") {
			list = append(list, anyValue(t, deep-2))
		}
		return list
	}
	object := map[string]any{}
	for i := range rapid.IntRange(0, 60).Draw(t, "members") {
		object[fmt.Sprintf("member %d", i)] = anyValue(t, deep-2)
	}
	return object
}
