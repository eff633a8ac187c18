// Package rolemix has the mixes of roles that a turn's prompt may ask a model to take: the
// profiles that come with the program, and those that operators add as YAML files.
//
// A profile's roles have objectives and constraints. [Profile.Merge] makes one list of
// each, in an order that depends on nothing but the profile: hard ones first, then by
// weight, role and text. Two constraints with the same key can't both hold; which one
// stayed is recorded. The merge comes before anything is cut to fit a prompt, so that the
// hard constraints can be an anchor, which is never cut.
//
// It is internal to Reflectory: its API may change in any release.
package rolemix
