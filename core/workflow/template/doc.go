// Package template renders the Jinja-style templates of workflow files.
//
// gonja reads the syntax; everything that runs is in this package, so that a template can
// only read the values that it is given: no functions or methods of Go values, no files or
// includes, no loops except over values, no macros that call themselves. Work, text and
// nesting are counted and limited, so a hostile template ends with the same error on every
// machine. This is the only package that imports gonja.
//
//	{{ expr }}   {{ a if b else c }}   {% if %} {% elif %} {% else %} {% endif %}
//	{% for x in list %} {% for k, v in object if … %} {% else %} {% endfor %}
//	{% set x = expr %}   {% raw %} {% endraw %}   {# comment #}   {%- -%}
//	{% macro f(a, b=1) %} {% endmacro %} {{ f(2) }}   {{ range(3) }}
//	{{ x | filter(…) }}   {{ x is test(…) }}   {{ object.items() }}
//
// Filters and methods are Jinja's, with these differences: an object is iterated in the
// order of its keys, a wrong argument is an error rather than "", and a macro sees only
// its arguments and the template's variables.
//
// In text, a string is written unchanged and anything else as JSON. A name that isn't
// defined is an error that names it, except with the default filter and the tests defined
// and undefined.
//
// It is internal to Reflectory: its API may change in any release.
package template
