package messy

import (
	"math/rand/v2"
	"strings"
)

// ledgerText writes the ledger as an accounting program exports it.
func ledgerText(rng *rand.Rand, rows []Booking) string {
	num := pick(rng, []number{{"", "."}, {",", "."}, {".", ","}, {"", ","}})
	t := newTable(newDelimiter(rng, num.decimal))
	head := pick(rng, [][]string{
		{"Date", "Supplier", "Invoice no.", "Currency", "Amount", "Comment"},
		{"Booked on", "Vendor", "Document", "Curr.", "Gross amount", "Text"},
		{"Buchungsdatum", "Lieferant", "Belegnummer", "Währung", "Betrag", "Text"},
	})
	layout := pick(rng, []string{"2006-01-02", "02.01.2006"})
	t.row(head...)
	for _, r := range rows {
		t.row(r.Date.Format(layout), r.Supplier, r.Number,
			pick(rng, []string{r.Currency, r.Currency, strings.ToLower(r.Currency)}), num.cents(r.Amount), pick(rng, []string{"", "", "ok", "paid, see bank"}))
		if rng.IntN(6) == 0 {
			t.row("", "", "", "", "", "")
		}
	}
	return t.text()
}

// typedName is a supplier as people type it: other letter case, other spaces, no
// legal form.
func typedName(rng *rand.Rand, name string) string {
	switch rng.IntN(6) {
	case 0:
		return strings.ToUpper(name)
	case 1:
		return " " + strings.ReplaceAll(name, " ", "  ")
	case 2:
		for _, form := range []string{" GmbH", " Ltd", " AG", " SARL", " Inc.", " AB", " Co"} {
			name = strings.TrimSuffix(name, form)
		}
		return name
	default:
		return name
	}
}

func typedNumber(rng *rand.Rand, number string) string {
	switch rng.IntN(5) {
	case 0:
		return strings.ToLower(number)
	case 1:
		return strings.ReplaceAll(number, "-", " - ") + " "
	default:
		return number
	}
}
