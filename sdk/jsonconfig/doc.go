// Package jsonconfig reads a plugin's config strictly: unknown keys and wrong
// types are problems, and all problems are reported at once. They name keys and
// types, and no value but one that should be a name of a fixed list, since a
// secret might stand where the name of its variable belongs.
//
//	o := jsonconfig.Read(data)
//	o.Take("model", "text", &c.model)
//	o.OneOf("scoring", &c.scoring, "graded", "strict")
//	o.Done()
//	return c, o.Err("my-eval config", "its README lists the keys")
package jsonconfig
