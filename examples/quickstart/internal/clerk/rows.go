package clerk

import (
	"encoding/csv"
	"regexp"
	"strings"
)

// clean takes out what editors and systems leave in files: byte order marks,
// Windows line ends, spaces at line ends, and the spaces that only look like one.
func clean(text string) string {
	text = strings.TrimPrefix(text, "\ufeff")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u00a0", " ", "\u202f", " ", "\u2009", " ").Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}

func spaced(s string) string { return strings.Join(strings.Fields(s), " ") }

// csvRows reads CSV with the delimiter that gives the most regular table.
func csvRows(text string) [][]string {
	var best [][]string
	bestScore := -1
	for _, comma := range []rune{',', ';', '\t', '|'} {
		r := csv.NewReader(strings.NewReader(text))
		r.Comma, r.FieldsPerRecord, r.LazyQuotes = comma, -1, true
		rows, err := r.ReadAll()
		if err != nil {
			continue
		}
		if score := regularity(rows); score > bestScore {
			best, bestScore = rows, score
		}
	}
	return best
}

// regularity is high for many columns in every row, and low where rows differ.
func regularity(rows [][]string) int {
	if len(rows) == 0 {
		return 0
	}
	score := len(rows[0])
	for _, row := range rows {
		if len(row) != len(rows[0]) {
			return 0
		}
	}
	return score
}

var columnGap = regexp.MustCompile(`\t+|\s{2,}|\s*\.{3,}\s*`)

// textRows splits lines into cells: at bars, tabs, leader dots, wide gaps, and
// after a known label.
func textRows(text string) [][]string {
	var rows [][]string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.Contains(line, "|") {
			rows = append(rows, cellsOf(strings.Split(strings.Trim(line, "|"), "|")))
			continue
		}
		var cells []string
		for _, cell := range columnGap.Split(line, -1) {
			label, value, ok := strings.Cut(cell, ":")
			if ok && known(label) {
				cells = append(cells, label, value)
				continue
			}
			cells = append(cells, cell)
		}
		rows = append(rows, cellsOf(cells))
	}
	return rows
}

// cellsOf trims cells and drops the empty ones and rules.
func cellsOf(cells []string) []string {
	var out []string
	for _, c := range cells {
		if c = spaced(strings.TrimPrefix(strings.TrimSpace(c), ":")); c != "" && strings.Trim(c, "-=_+") != "" {
			out = append(out, c)
		}
	}
	return out
}
