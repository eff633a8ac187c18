package workflow

import "testing"

func TestInRange(t *testing.T) {
	for _, c := range []struct {
		versions string
		in, out  []string
	}{
		{"^1.2", []string{"1.2.0", "1.2.9", "1.99.0", "1.2.0+build"}, []string{"1.1.9", "2.0.0", "0.9.0", "1.2.0-rc.1", "2.0.0-rc.1"}},
		{"^1", []string{"1.0.0", "1.9.9"}, []string{"0.9.9", "2.0.0"}},
		{"^0.2", []string{"0.2.0", "0.2.9"}, []string{"0.1.9", "0.3.0", "1.0.0"}},
		{"^0.0.3", []string{"0.0.3"}, []string{"0.0.2", "0.0.4"}},
		{"^0.0", []string{"0.0.0", "0.0.9"}, []string{"0.1.0"}},
		{"^0", []string{"0.0.1", "0.9.0"}, []string{"1.0.0"}},
		{"^1.2.3-rc.2", []string{"1.2.3-rc.2", "1.2.3-rc.10", "1.2.3", "1.3.0"}, []string{"1.2.3-rc.1", "1.2.4-rc.3", "2.0.0"}},
		{"~1.2.3", []string{"1.2.3", "1.2.10"}, []string{"1.2.2", "1.3.0", "1.3.0-rc.1"}},
		{"~1", []string{"1.0.0", "1.9.0"}, []string{"2.0.0"}},
		{"1.2.3", []string{"1.2.3", "1.2.3+other"}, []string{"1.2.4", "1.2.3-rc.1"}},
		{"=1.2.3-rc.1", []string{"1.2.3-rc.1"}, []string{"1.2.3"}},
		{"1.2", []string{"1.2.0", "1.2.99"}, []string{"1.3.0", "1.1.0", "1.3.0-0"}},
		{"1", []string{"1.0.0", "1.9.0"}, []string{"2.0.0", "10.0.0"}},
		{">=1.2 <1.9", []string{"1.2.0", "1.8.9"}, []string{"1.1.9", "1.9.0", "1.9.0-rc.1"}},
		{">1.2", []string{"1.3.0", "2.0.0"}, []string{"1.2.0", "1.2.9"}},
		{">1.2.3", []string{"1.2.4"}, []string{"1.2.3", "1.2.2"}},
		{"<=1.2", []string{"1.2.9", "0.1.0"}, []string{"1.3.0"}},
		{"<=1.2.3", []string{"1.2.3"}, []string{"1.2.4"}},
		{"<2", []string{"1.9.9"}, []string{"2.0.0", "2.0.0-rc.1"}},
		{"^1.2 >=1.4.1", []string{"1.4.1"}, []string{"1.4.0", "2.0.0"}},
	} {
		if !rangeForm().MatchString(c.versions) {
			t.Errorf("%q is no range", c.versions)
		}
		for _, v := range c.in {
			if !InRange(v, c.versions) {
				t.Errorf("%s isn't in %q", v, c.versions)
			}
		}
		for _, v := range append(c.out, "", "x", "1.2.3.4") {
			if InRange(v, c.versions) {
				t.Errorf("%q is in %q", v, c.versions)
			}
		}
	}
	for _, text := range []string{"", " ", "latest", "*", "1.x", "v1.2", "^1.2.3.4", "^01", "1.2 || 2", "^", ">= 1.2", "1.2-rc", "^1.2\n", "9999999999", ">=1.2,<2"} {
		if rangeForm().MatchString(text) {
			t.Errorf("%q is a range", text)
		}
	}
}
