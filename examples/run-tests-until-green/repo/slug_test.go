package slug

import "testing"

func check(t *testing.T, title, want string) {
	t.Helper()
	if got := Slug(title); got != want {
		t.Errorf("Slug(%q) is %q, want %q", title, got, want)
	}
}

func TestSlug_LowerCase(t *testing.T) { check(t, "Hello", "hello") }

func TestSlug_Hyphens(t *testing.T) { check(t, " a  b ", "a-b") }

func TestSlug_OnlyLettersAndDigits(t *testing.T) { check(t, "What? No. 2!", "what-no-2") }
