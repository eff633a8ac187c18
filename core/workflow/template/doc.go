// Package template renders the Jinja-style templates of workflow files.
//
// gonja reads the syntax; everything that runs is this package's own, so that a
// template can do nothing but look at the values it is given: no functions or
// methods, no files, includes or macros, no loops but over given values. Work,
// text and nesting are counted and bounded, so a hostile template ends with an
// error, the same on every machine. It is the only package that imports gonja.
//
//	{{ expr }}   {{ a if b else c }}   {% if %} {% elif %} {% else %} {% endif %}
//	{% for x in list %} {% for k, v in object if … %} {% else %} {% endfor %}
//	{% set x = expr %}   {% raw %} {% endraw %}   {# comment #}   {%- -%}
//
// In text, a string is written as it stands and anything else as JSON. A name
// that isn't defined is an error that names it, but for the default filter and
// the tests defined and undefined.
package template
