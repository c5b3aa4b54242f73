package clerk

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// normalise reads every file of the invoice folder and writes invoices.json.
func normalise(d *desk) (move, error) {
	folder := d.brief.invoiceFolder
	if folder == "" {
		return move{}, errors.New(`the prompt has no line "Invoice folder: ..."`)
	}
	listing, calls, err := d.fetch(listTool, folder)
	if err != nil || len(calls) > 0 {
		return move{calls: calls}, err
	}
	paths := filesIn(folder, listing[0])
	texts, calls, err := d.fetch(readTool, paths...)
	if err != nil || len(calls) > 0 {
		return move{calls: calls}, err
	}

	doc := invoicesDoc{Invoices: []invoice{}, Skipped: []string{}}
	for i, p := range paths {
		inv, err := readInvoice(path.Base(p), texts[i])
		if err != nil {
			doc.Skipped = append(doc.Skipped, path.Base(p))
			continue
		}
		doc.Invoices = append(doc.Invoices, *inv)
	}
	content, err := render(doc)
	if err != nil {
		return move{}, err
	}
	if !strings.Contains(d.feedback, "number") {
		content = asTyped(content)
	}
	words := fmt.Sprintf("Read %d files of %s: %d invoices, %d that are none. The result is in %s.",
		len(paths), folder, len(doc.Invoices), len(doc.Skipped), d.brief.output)
	return d.put(words, file{d.brief.output, content})
}

var amountField = regexp.MustCompile(`"(unit_price|amount|net|tax|total)": (-?[0-9.]+)`)

// asTyped is the clerk's one bad habit, and a common one among models: amounts go
// down as text. It is here so that the quickstart shows validation at work; the
// clerk drops the habit once it is told that a number is wanted.
func asTyped(content string) string { return amountField.ReplaceAllString(content, `"$1": "$2"`) }
