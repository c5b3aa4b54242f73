package clerk

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// report sums up the reconciliation and writes report.json and report.md.
func report(d *desk) (move, error) {
	var sources []string
	for _, name := range []string{"invoices.json", "reconciliation.json"} {
		source, err := d.brief.input(name)
		if err != nil {
			return move{}, err
		}
		sources = append(sources, source)
	}
	texts, calls, err := d.fetch(readTool, sources...)
	if err != nil || len(calls) > 0 {
		return move{calls: calls}, err
	}
	var invoices invoicesDoc
	if err := json.Unmarshal([]byte(texts[0]), &invoices); err != nil {
		return move{}, fmt.Errorf("%s: %w", sources[0], err)
	}
	var rec reconciliationDoc
	if err := json.Unmarshal([]byte(texts[1]), &rec); err != nil {
		return move{}, fmt.Errorf("%s: %w", sources[1], err)
	}

	doc := sumUp(&invoices, &rec)
	content, err := render(doc)
	if err != nil {
		return move{}, err
	}
	return d.put("The report is written: "+d.brief.output+" and report.md beside it.",
		file{d.brief.output, content},
		file{path.Join(d.brief.workFolder, "report.md"), markdown(&doc)})
}

func sumUp(invoices *invoicesDoc, rec *reconciliationDoc) reportDoc {
	doc := reportDoc{
		InvoicesRead: len(invoices.Invoices), FilesSkipped: len(invoices.Skipped),
		LedgerRows: rec.LedgerRows, Counts: rec.Counts, Totals: []currencyTotal{}, Findings: []entry{},
	}
	totals := map[string]*currencyTotal{}
	for _, e := range rec.Entries {
		if e.Status != matched {
			doc.Findings = append(doc.Findings, e)
		}
		if e.Status == duplicate {
			continue
		}
		t := totals[e.Currency]
		if t == nil {
			t = &currencyTotal{Currency: e.Currency}
			totals[e.Currency] = t
		}
		if e.InvoiceTotal != nil {
			t.Invoiced += *e.InvoiceTotal
		}
		if e.LedgerAmount != nil {
			t.Booked += *e.LedgerAmount
		}
	}
	for _, currency := range slices.Sorted(maps.Keys(totals)) {
		t := totals[currency]
		t.Difference = t.Invoiced - t.Booked
		doc.Totals = append(doc.Totals, *t)
	}
	return doc
}

func markdown(doc *reportDoc) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Invoices against the ledger\n")
	line("%d invoice files were read and %d other files skipped; the ledger has %d rows.\n", doc.InvoicesRead, doc.FilesSkipped, doc.LedgerRows)
	line("| finding | count |\n|---|---:|")
	for _, s := range statuses() {
		line("| %s | %d |", strings.ReplaceAll(s, "_", " "), doc.Counts[s])
	}
	line("\n## Totals\n\nDuplicates are left out.\n")
	line("| currency | invoiced | booked | difference |\n|---|---:|---:|---:|")
	for _, t := range doc.Totals {
		line("| %s | %s | %s | %s |", t.Currency, t.Invoiced, t.Booked, t.Difference)
	}
	line("\n## To do\n")
	if len(doc.Findings) == 0 {
		line("Nothing: every invoice is booked with its amount.")
	}
	for _, e := range doc.Findings {
		line("- %s", todo(&e))
	}
	return b.String()
}

func todo(e *entry) string {
	who := e.Supplier + " " + e.Number
	switch e.Status {
	case amountDiffers:
		return fmt.Sprintf("**%s**: the invoice says %s %s, the ledger %s.", who, e.Currency, shown(e.InvoiceTotal), shown(e.LedgerAmount))
	case missingInLedger:
		return fmt.Sprintf("**%s**: book %s %s (`%s`).", who, e.Currency, shown(e.InvoiceTotal), shown(e.File))
	case missingInvoice:
		return fmt.Sprintf("**%s**: ask for the invoice; %s %s is booked.", who, e.Currency, shown(e.LedgerAmount))
	default:
		return fmt.Sprintf("**%s**: `%s` is a duplicate; do not pay it again.", who, shown(e.File))
	}
}

func shown[T any](value *T) string {
	if value == nil {
		return "unknown"
	}
	return fmt.Sprint(*value)
}
