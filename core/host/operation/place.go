package operation

import (
	"context"
	"strconv"

	"github.com/reflectory/reflectory/core/memory"
	"github.com/reflectory/reflectory/sdk"
)

// onHost is where a request is done that is of no namespace.
func onHost[In any](context.Context, *Call, *In) (place, error) { return place{}, nil }

// inAll is where a request is done that is about all namespaces at once.
func inAll[In any](context.Context, *Call, *In) (place, error) {
	return place{namespaces: []string{"**"}}, nil
}

// inNamespace is where a request is done that names its namespace; "" is the configured one.
// Whether it can be one the operation says, with all else that is wrong.
func inNamespace[In any](of func(*In) *string) func(context.Context, *Call, *In) (place, error) {
	return func(_ context.Context, c *Call, in *In) (place, error) {
		namespace := of(in)
		if *namespace == "" {
			*namespace = c.Host.Settings().Namespace.Value
		}
		return place{namespaces: []string{*namespace}}, nil
	}
}

// inTree is inNamespace for requests that may take the namespaces below as well; without a
// namespace these are all there are.
func inTree[In any](of func(*In) (namespace *string, subtree bool)) func(context.Context, *Call, *In) (place, error) {
	return func(_ context.Context, c *Call, in *In) (place, error) {
		namespace, subtree := of(in)
		switch {
		case subtree && *namespace == "":
			return place{namespaces: []string{"**"}}, nil
		case *namespace == "":
			*namespace = c.Host.Settings().Namespace.Value
		}
		if subtree {
			return place{namespaces: []string{*namespace + below}}, nil
		}
		return place{namespaces: []string{*namespace}}, nil
	}
}

// ofMemory is where a request is done that names a memory, by its id or, for a caller that
// reaches every namespace, its beginning: in the memory's namespace.
func ofMemory[In any](id func(*In) *string) func(context.Context, *Call, *In) (place, error) {
	return func(ctx context.Context, c *Call, in *In) (place, error) { return c.atMemory(ctx, id(in)) }
}

// atMemory finds a memory by its id or the beginning of that, makes the id whole, and
// returns where it is.
func (c *Call) atMemory(ctx context.Context, id *string) (place, error) {
	absent := memory.NotFound(*id)
	find := c.Host.Memories.Get
	if c.reaches("**") {
		find = c.Host.Memories.Find
	}
	found, err := find(ctx, *id)
	if err != nil {
		return place{}, c.known(err, absent)
	}
	*id = found.ID
	return place{namespaces: []string{found.Namespace}, absent: absent}, nil
}

// atMemories is atMemory for several: each id that names a memory is made whole. To a
// caller that reaches every namespace, the operation itself refuses an id that names none,
// in its own order and words; to others such an id, and one of a memory that they don't
// reach, are refused alike here.
func (c *Call) atMemories(ctx context.Context, ids []string) (place, error) {
	var at place
	for i := range ids {
		absent := memory.NotFound(ids[i])
		one, err := c.atMemory(ctx, &ids[i])
		code := sdk.CodeOf(err)
		switch {
		case err == nil && c.reaches(one.namespaces[0]):
			at.namespaces, at.absent = append(at.namespaces, one.namespaces...), absent
		case err == nil, !c.reaches("**") && (code == sdk.NotFound || code == sdk.Invalid):
			return place{}, absent
		case code != sdk.NotFound && code != sdk.Invalid:
			return place{}, err
		}
	}
	return at, nil
}

// itemName names an item of a list in an error.
func itemName(i int) string { return "items[" + strconv.Itoa(i) + "]" }

// known is an error about what an id names, or, to a caller that doesn't reach where that
// was, that there is no such thing.
func (c *Call) known(err error, absent error) error {
	if sdk.CodeOf(err) != sdk.NotFound {
		return err
	}
	namespace, _ := sdk.AsError(err).Details["namespace"].(string)
	if namespace != "" && !c.reaches(namespace) {
		return absent
	}
	return err
}

// bodyMissing refuses a call without the file that it needs.
func bodyMissing(what string) error {
	return sdk.Errorf(sdk.Invalid, "body_missing", "nothing was sent").WithHint("send %s", what)
}
