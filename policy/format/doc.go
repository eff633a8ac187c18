// Package format reads the policy format: YAML files whose rules are written in CEL
// (https://cel.dev), and the suites of test cases next to them. It knows the structure of
// the files and the position of everything in them, but not what the expressions mean:
// package program compiles those.
//
// The format is the one that cel-go documents, with three more keys (namespace, shadow and
// mask):
//
//	name: strict-gate                # optional
//	description: …                   # optional
//	imports: [{name: google.protobuf.Duration}]
//	namespace: team/**               # where it holds, ** if absent
//	shadow: true                     # decides next to the one in force, and only logs
//	mask: [title, state.user.email]  # inputs that decision logs leave out, with texts made of them
//	rule:
//	  id: root
//	  description: …
//	  variables:
//	    - {name: wide, expression: size(tags) > 3}
//	  match:                         # the first that matches decides
//	    - condition: variables.wide  # always, if absent
//	      output: '{"allow": true}'
//	      explanation: '"more than three tags"'
//	    - rule: {match: […]}         # in place of an output
//
// Expressions are the scalars of the file, unchanged. In block scalars, both | and >,
// they keep their line ends and indentation, so that every error has its true line and
// column.
//
// It is internal to Reflectory: its API may change in any release.
package format
