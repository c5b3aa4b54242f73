package clerk

import (
	"errors"
	"strings"
)

// ledgerRow is one booking.
type ledgerRow struct {
	supplier, number, currency string
	amount                     cents
}

func (r *ledgerRow) key() string { return matchKey(r.supplier, r.number) }

func readLedger(text string) ([]ledgerRow, error) {
	rows := csvRows(clean(text))
	if len(rows) == 0 {
		return nil, errors.New("the ledger is empty")
	}
	at := map[string]int{}
	for i, head := range rows[0] {
		if name, ok := ledgerColumns[labelKey(head)]; ok {
			at[name] = i
		}
	}
	for _, want := range []string{"supplier", "number", "currency", "amount"} {
		if _, ok := at[want]; !ok {
			return nil, errors.New("the ledger's first row names no column for the " + want)
		}
	}
	cell := func(row []string, name string) string {
		if at[name] >= len(row) {
			return ""
		}
		return spaced(row[at[name]])
	}
	var amounts []string
	for _, row := range rows[1:] {
		amounts = append(amounts, cell(row, "amount"))
	}
	mark := decimalMark(amounts)
	var out []ledgerRow
	for _, row := range rows[1:] {
		if cell(row, "number") == "" {
			continue
		}
		amount, err := parseCents(cell(row, "amount"), mark)
		if err != nil {
			return nil, err
		}
		out = append(out, ledgerRow{cell(row, "supplier"), cell(row, "number"), strings.ToUpper(cell(row, "currency")), amount})
	}
	return out, nil
}
