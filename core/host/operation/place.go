package operation

import (
	"context"
	"strconv"

	"github.com/reflectory/reflectory/core"
	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// onHost is the place of a request without a namespace.
func onHost[In any](context.Context, *Call, *In) (place, error) { return place{}, nil }

// inAll is the place of a request about all namespaces at once.
func inAll[In any](context.Context, *Call, *In) (place, error) {
	return place{namespaces: []string{"**"}}, nil
}

// home is the namespace of requests that name none.
func home(c *Call) string { return c.caller.Default(c.Host.Config.Settings.Namespace.Value) }

// inNamespace is the place of a request that names its namespace; "" is home.
// The operation checks whether the name is valid, together with its other checks.
func inNamespace[In any](of func(*In) *string) func(context.Context, *Call, *In) (place, error) {
	return func(_ context.Context, c *Call, in *In) (place, error) {
		namespace := of(in)
		if *namespace == "" {
			*namespace = home(c)
		}
		return place{namespaces: []string{*namespace}}, nil
	}
}

// inTree is inNamespace for requests that may include the namespaces below; without a
// namespace it means all namespaces.
func inTree[In any](of func(*In) (namespace *string, subtree bool)) func(context.Context, *Call, *In) (place, error) {
	return func(_ context.Context, c *Call, in *In) (place, error) {
		namespace, subtree := of(in)
		switch {
		case subtree && *namespace == "":
			return place{namespaces: []string{"**"}}, nil
		case *namespace == "":
			*namespace = home(c)
		}
		if subtree {
			return place{namespaces: []string{*namespace + below}}, nil
		}
		return place{namespaces: []string{*namespace}}, nil
	}
}

// ofMemory is the place of a request that names a memory: the memory's namespace. A memory is named by
// its id, by the id that a caller chose for it or, for a caller that reaches every namespace, by the
// beginning of its id.
func ofMemory[In any](id func(*In) *string) func(context.Context, *Call, *In) (place, error) {
	return func(ctx context.Context, c *Call, in *In) (place, error) { return c.atMemory(ctx, id(in)) }
}

// atMemory finds a memory by what [ofMemory] accepts, completes the id, and returns the memory's
// place.
func (c *Call) atMemory(ctx context.Context, id *string) (place, error) {
	found, err := c.Host.Memories.Chosen(ctx, *id)
	return atChosen(ctx, c, id, found, err)
}

// ofLinkedMemory is [ofMemory] that also reads the memory's links, as of the same moment.
func ofLinkedMemory(ctx context.Context, c *Call, in *MemoryGet) (place, error) {
	found, links, err := c.Host.Memories.ChosenLinked(ctx, in.ID)
	at, err := atChosen(ctx, c, &in.ID, found, err)
	if err == nil && found == nil { // it is named by the beginning of its id
		links.From, links.To, links.Err = c.Host.Memories.Links(ctx, in.ID)
	}
	c.links = links
	return at, err
}

// atChosen is atMemory for what [memory.Memories.Chosen] returned.
func atChosen(ctx context.Context, c *Call, id *string, found *core.Memory, err error) (place, error) {
	absent := absence(memory.NotFound, *id)
	if sdk.CodeOf(err) == sdk.NotFound && c.reaches("**") {
		found, err = c.Host.Memories.Find(ctx, *id)
	}
	if err != nil {
		return place{}, c.known(err, absent)
	}
	*id, c.memory = found.ID, found
	return place{namespaces: []string{found.Namespace}, absent: absent}, nil
}

// atMemories is atMemory for several ids: each id that matches a memory is completed. For a
// caller that reaches every namespace, the operation itself refuses an id that matches no
// memory, in its own order and words. For other callers, such an id and the id of a memory
// that they don't reach are both refused here, in the same way.
func (c *Call) atMemories(ctx context.Context, ids []string) (place, error) {
	var at place
	for i := range ids {
		absent := absence(memory.NotFound, ids[i])
		one, err := c.atMemory(ctx, &ids[i])
		code := sdk.CodeOf(err)
		switch {
		case err == nil && c.reaches(one.namespaces[0]):
			at.namespaces, at.absent = append(at.namespaces, one.namespaces...), absent
		case err == nil, !c.reaches("**") && (code == sdk.NotFound || code == sdk.Invalid):
			return place{}, absent()
		case code != sdk.NotFound && code != sdk.Invalid:
			return place{}, err
		}
	}
	return at, nil
}

// seen are the memories of these ids that the caller reaches: links and identical memories
// can lead to other namespaces.
func (c *Call) seen(ctx context.Context, ids []string) []string {
	if c.reaches("**") {
		return ids
	}
	var own []string
	for _, id := range ids {
		if id == core.SupersededByPurged {
			own = append(own, id)
		} else if m, err := c.Host.Memories.Get(ctx, id); err == nil && c.reaches(m.Namespace) {
			own = append(own, id)
		}
	}
	return own
}

// seenLinks are the links of which the caller reaches both ends.
func (c *Call) seenLinks(ctx context.Context, links []core.Link) []core.Link {
	own := []core.Link{}
	for _, l := range links {
		if len(c.seen(ctx, []string{l.From, l.To})) == 2 {
			own = append(own, l)
		}
	}
	return own
}

// itemName names an item of a list in an error.
func itemName(i int) string { return "items[" + strconv.Itoa(i) + "]" }

// absence makes the error about an id that nothing has, once it is needed: usually it isn't.
func absence(of func(id string) error, id string) func() error {
	return func() error { return of(id) }
}

// known returns an error about the thing that an id names. A caller that doesn't reach its
// namespace gets absent instead: the error for a thing that doesn't exist.
func (c *Call) known(err error, absent func() error) error {
	if sdk.CodeOf(err) != sdk.NotFound {
		return err
	}
	namespace, _ := sdk.AsError(err).Details["namespace"].(string)
	if namespace != "" && !c.reaches(namespace) {
		return absent()
	}
	return err
}

// bodyMissing refuses a call without the file that it needs.
func bodyMissing(what string) error {
	return sdk.Errorf(sdk.Invalid, "body_missing", "nothing was sent").WithHint("send %s", what)
}
