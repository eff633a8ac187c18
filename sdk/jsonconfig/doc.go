// Package jsonconfig reads a plugin's config strictly: unknown keys and wrong types are
// problems, and all problems are reported at once. The problems name keys and types.
// They show a value only if it should be a name from a fixed list, since somebody may
// have written a secret instead of the name of its variable.
//
//	o := jsonconfig.Read(data)
//	o.Take("model", "text", &c.model)
//	o.OneOf("scoring", &c.scoring, "graded", "strict")
//	o.Done()
//	return c, o.Err("my-eval config", "its README lists the keys")
package jsonconfig
