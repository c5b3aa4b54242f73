package clerk

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	yearFirst   = regexp.MustCompile(`^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})$`)
	yearLast    = regexp.MustCompile(`^(\d{1,2})([-/.])(\d{1,2})[-/.](\d{4}|\d{2})$`)
	dayInWords  = regexp.MustCompile(`^(\d{1,2})\.?[ -](\p{L}+)\.?[ -](\d{4})$`)
	monthsFirst = regexp.MustCompile(`^(\p{L}+)\.? (\d{1,2}),? (\d{4})$`)
)

// parseDate returns a date as 2006-01-02. The label may say in brackets what the
// order is; without that a slash date has the day first unless that is impossible.
func parseDate(label, text string) (string, error) {
	text = spaced(text)
	var day, month, year string
	if m := yearFirst.FindStringSubmatch(text); m != nil {
		year, month, day = m[1], m[2], m[3]
	} else if m := yearLast.FindStringSubmatch(text); m != nil {
		day, month, year = m[1], m[3], m[4]
		if m[2] != "." && (monthFirstHint(label) || number(month) > 12) {
			day, month = month, day
		}
	} else if m := dayInWords.FindStringSubmatch(text); m != nil {
		day, month, year = m[1], monthNumber(m[2]), m[3]
	} else if m := monthsFirst.FindStringSubmatch(text); m != nil {
		day, month, year = m[2], monthNumber(m[1]), m[3]
	}
	if len(year) == 2 {
		year = "20" + year
	}
	date := fmt.Sprintf("%s-%02d-%02d", year, number(month), number(day))
	if _, err := time.Parse(time.DateOnly, date); err != nil {
		return "", fmt.Errorf("%q is no date that can be read", text)
	}
	return date, nil
}

func monthFirstHint(label string) bool {
	return strings.HasPrefix(strings.ToUpper(strings.Trim(brackets.FindString(label), "()")), "MM")
}

// number is 0 for what is none, which no date accepts.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// monthNumber knows English, German and French names, and English short forms.
func monthNumber(name string) string {
	names := []string{
		"jan january januar janvier", "feb february februar février", "mar march märz mars", "apr april avril",
		"may mai", "jun june juni juin", "jul july juli juillet", "aug august août", "sep sept september septembre",
		"oct october oktober octobre", "nov november novembre", "dec december dezember décembre",
	}
	for i, all := range names {
		for n := range strings.FieldsSeq(all) {
			if n == strings.ToLower(name) {
				return strconv.Itoa(i + 1)
			}
		}
	}
	return ""
}
