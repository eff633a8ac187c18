# A coding agent in place of a real one, so that the example needs no model: it reads what the loop
# sends it (JSON: the task, its last file, which tests failed and where), and prints its next file.
asked=$(cat)
failed=${asked##*'"errors":'} # what failed last; the state has earlier attempts, too

words='strings.Fields(title)'
case $failed in
*TestSlug_*) ;;
*) words='[]string{title}' ;; # its first idea
esac

lower='title = strings.ToLower(title)'
clean=''
case $failed in
*TestSlug_Hyphens*) ;; # one thing at a time
*TestSlug_OnlyLettersAndDigits*) clean='title = regexp.MustCompile(`[^a-z0-9 ]`).ReplaceAllString(title, "")' ;;
esac

cat <<END
package slug

import (
$([ -n "$clean" ] && echo '	"regexp"')
	"strings"
)

// Slug makes a title fit for a URL.
func Slug(title string) string {
	$lower
	$clean
	return strings.Join($words, "-")
}
END
