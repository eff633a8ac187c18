// Package config holds the settings of a host: what they are, where each value comes
// from, and everything that is wrong with them at once.
//
// A setting is described once, in the table of [Definitions]. The choice of its value,
// the reader of reflectory.yaml, the JSON Schema of that file, the listing of config show
// and the help on environment variables all use the table, so that they can't contradict
// each other. [Load] returns a [Config] with checked values: code that uses one never has
// to parse a setting again, or to handle a wrong one.
//
// The package knows no terminal and no command line. Flags come as a map, and the
// environment as a function. Keys are never settings: a setting names the variable that
// holds a key.
package config
