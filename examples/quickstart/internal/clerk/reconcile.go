package clerk

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// reconcile compares invoices.json with the ledger and writes reconciliation.json.
func reconcile(d *desk) (move, error) {
	if d.brief.ledger == "" {
		return move{}, errors.New(`the prompt has no line "Ledger: ..."`)
	}
	source, err := d.brief.input("invoices.json")
	if err != nil {
		return move{}, err
	}
	texts, calls, err := d.fetch(readTool, source, d.brief.ledger)
	if err != nil || len(calls) > 0 {
		return move{calls: calls}, err
	}
	var invoices invoicesDoc
	if err := json.Unmarshal([]byte(texts[0]), &invoices); err != nil {
		return move{}, fmt.Errorf("%s: %w", source, err)
	}
	rows, err := readLedger(texts[1])
	if err != nil {
		return move{}, fmt.Errorf("%s: %w", d.brief.ledger, err)
	}

	doc := compare(invoices.Invoices, rows)
	content, err := render(doc)
	if err != nil {
		return move{}, err
	}
	words := fmt.Sprintf("Compared %d invoices with %d ledger rows. The result is in %s.", len(invoices.Invoices), len(rows), d.brief.output)
	return d.put(words, file{d.brief.output, content})
}

func compare(invoices []invoice, rows []ledgerRow) reconciliationDoc {
	doc := reconciliationDoc{LedgerRows: len(rows), Counts: map[string]int{}, Entries: []entry{}}
	for _, s := range statuses() {
		doc.Counts[s] = 0
	}
	booked := map[string][]ledgerRow{}
	for _, r := range rows {
		booked[r.key()] = append(booked[r.key()], r)
	}
	slices.SortStableFunc(invoices, func(a, b invoice) int { return cmp.Compare(a.File, b.File) })
	seen := map[string]bool{}
	for _, inv := range invoices {
		key := matchKey(inv.Supplier, inv.Number)
		e := entry{Supplier: inv.Supplier, Number: inv.Number, Currency: inv.Currency, InvoiceTotal: &inv.Total, File: &inv.File}
		switch {
		case seen[key]:
			e.Status = duplicate
		case len(booked[key]) == 0:
			e.Status = missingInLedger
		default:
			e.settle(booked[key][0])
			booked[key] = booked[key][1:]
		}
		seen[key] = true
		doc.add(e)
	}
	for _, r := range rows {
		if left := booked[r.key()]; len(left) > 0 {
			booked[r.key()] = left[1:]
			doc.add(entry{Status: missingInvoice, Supplier: left[0].supplier, Number: left[0].number, Currency: left[0].currency, LedgerAmount: &left[0].amount})
		}
	}
	doc.sort()
	return doc
}

func (e *entry) settle(row ledgerRow) {
	e.LedgerAmount = &row.amount
	if row.currency != e.Currency {
		e.Status = amountDiffers
		return
	}
	diff := *e.InvoiceTotal - row.amount
	e.Difference = &diff
	e.Status = matched
	if diff != 0 {
		e.Status = amountDiffers
	}
}

func (doc *reconciliationDoc) add(e entry) {
	doc.Counts[e.Status]++
	doc.Entries = append(doc.Entries, e)
}

func (doc *reconciliationDoc) sort() {
	order := statuses()
	slices.SortStableFunc(doc.Entries, func(a, b entry) int {
		return cmp.Or(
			cmp.Compare(slices.Index(order, a.Status), slices.Index(order, b.Status)),
			cmp.Compare(a.Supplier, b.Supplier),
			cmp.Compare(a.Number, b.Number),
		)
	})
}

// matchKey is the same for a supplier and number however people type them: letter
// case, spaces and a legal form at the end do not count.
func matchKey(supplier, number string) string {
	words := strings.FieldsFunc(strings.ToLower(supplier), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for len(words) > 1 && legalForm(words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	return strings.Join(words, " ") + "\n" + strings.ToUpper(strings.Join(strings.Fields(number), ""))
}

func legalForm(word string) bool {
	return slices.Contains([]string{"gmbh", "ag", "kg", "ltd", "limited", "plc", "inc", "llc", "corp", "co", "sarl", "sa", "sas", "ab", "bv", "oy"}, word)
}
