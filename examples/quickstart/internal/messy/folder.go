// Package messy makes folders of supplier invoices as an accountant gets them:
// every supplier has its own labels, language, layout, date and number format,
// some invoices come twice, some have no printed total, and the ledger beside
// them has gaps. The same seed makes the same folder.
//
// A [Folder] carries the truth as data that was there before any text was
// written, so a test can check what a reader made of the text without reading it.
package messy

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"time"
)

// InvoiceDir and LedgerFile are where a folder's files lie, below the folder of
// inputs.
const (
	InvoiceDir = "invoices"
	LedgerFile = "ledger.csv"
)

// Status says how an invoice and the ledger stand to each other.
type Status string

// The findings of a reconciliation. A duplicate is a further file of an invoice
// that another file already carries; it is an invoice's copy, not a [Case].
const (
	Matched         Status = "matched"
	AmountDiffers   Status = "amount_differs"
	MissingInLedger Status = "missing_in_ledger"
	MissingInvoice  Status = "missing_invoice"
	Duplicate       Status = "duplicate"
)

// Line is one line of an invoice. Money is in hundredths of the currency.
type Line struct {
	Description string
	Tenths      int64 // the quantity, in tenths of a unit
	Unit        int64
	Amount      int64
}

// Invoice is what one invoice says. Money is in hundredths of the currency.
type Invoice struct {
	Supplier string
	Number   string
	Date     time.Time
	Currency string
	Lines    []Line
	Rate     int64 // tax in tenths of a percent
	Net      int64
	Tax      int64
	Total    int64
	File     string   // the file that carries it; of several the first by name
	Copies   []string // further files that carry it
}

// Booking is one row of the ledger, with the names as they were typed there. Money
// is in hundredths of the currency.
type Booking struct {
	Supplier string
	Number   string
	Date     time.Time
	Currency string
	Amount   int64
}

// Case is one invoice, one booking, or both, and how they stand to each other.
type Case struct {
	Status  Status
	Invoice *Invoice // nil for [MissingInvoice]
	Booking *Booking // nil for [MissingInLedger]
}

// Folder is a generated folder with its truth.
type Folder struct {
	Files   map[string]string // by name below the folder of inputs
	Cases   []Case
	Skipped []string // names of files, below [InvoiceDir], that are no invoices
}

// Generate makes the folder of a seed.
func Generate(seed uint64) *Folder {
	rng := rand.New(rand.NewPCG(seed, 0x7265616431653964))
	f := &Folder{Files: map[string]string{}}
	f.Cases = makeCases(rng)
	for _, c := range f.Cases {
		if c.Invoice != nil {
			f.writeInvoice(rng, c.Invoice)
		}
	}
	f.writeNotes(rng)
	f.Files[LedgerFile] = ledgerText(rng, f.bookings(rng))
	return f
}

// makeCases has every status at least once, so that every report has something
// to show.
func makeCases(rng *rand.Rand) []Case {
	statuses := []Status{Matched, AmountDiffers, MissingInLedger, MissingInvoice}
	for range 3 + rng.IntN(9) {
		statuses = append(statuses, pick(rng, []Status{Matched, Matched, Matched, AmountDiffers, MissingInLedger, MissingInvoice}))
	}
	rng.Shuffle(len(statuses), func(i, j int) { statuses[i], statuses[j] = statuses[j], statuses[i] })

	invoices := newInvoices(rng, len(statuses))
	cases := make([]Case, 0, len(statuses))
	for i, status := range statuses {
		inv := invoices[i]
		c := Case{Status: status, Invoice: inv, Booking: &Booking{
			Supplier: typedName(rng, inv.Supplier), Number: typedNumber(rng, inv.Number),
			Currency: inv.Currency, Amount: inv.Total,
			Date: inv.Date.AddDate(0, 0, 1+rng.IntN(20)),
		}}
		switch status {
		case AmountDiffers:
			c.Booking.Amount = wrongAmount(rng, inv)
		case MissingInLedger:
			c.Booking = nil
		case MissingInvoice:
			c.Invoice = nil
		}
		cases = append(cases, c)
	}
	return cases
}

// wrongAmount is one of the slips that people make when they book.
func wrongAmount(rng *rand.Rand, inv *Invoice) int64 {
	slips := []int64{inv.Total + 1, inv.Total - 1, inv.Total * 10, swapDigits(inv.Total)}
	if inv.Tax != 0 {
		slips = append(slips, inv.Net)
	}
	if wrong := pick(rng, slips); wrong != inv.Total {
		return wrong
	}
	return inv.Total + 100
}

func swapDigits(n int64) int64 {
	tens, hundreds := n/100%10, n/1000%10
	return n + (tens-hundreds)*1000 + (hundreds-tens)*100
}

// writeInvoice puts the invoice into one file, sometimes into two or three.
func (f *Folder) writeInvoice(rng *rand.Rand, inv *Invoice) {
	files := 1
	if len(f.Files) == 0 || rng.IntN(6) == 0 {
		files = 2 + rng.IntN(5)/4
	}
	var names []string
	var text, ext string
	for n := range files {
		if n == 0 || rng.IntN(3) > 0 {
			text, ext = invoiceText(rng, inv)
		}
		name := f.freeName(rng, inv, n, ext)
		f.Files[path.Join(InvoiceDir, name)] = text
		names = append(names, name)
	}
	slices.Sort(names)
	inv.File, inv.Copies = names[0], names[1:]
}

// freeName is a name as people and scanners give them.
func (f *Folder) freeName(rng *rand.Rand, inv *Invoice, n int, ext string) string {
	slug := slugOf(inv.Supplier) + "-" + slugOf(inv.Number)
	forms := []string{slug, slugOf(inv.Number) + " " + slugOf(inv.Supplier), inv.Date.Format("060102") + "_" + slugOf(inv.Supplier)}
	if n > 0 {
		forms = []string{"copy of " + slug, slug + " (2)", fmt.Sprintf("scan-%04d", rng.IntN(10000))}
	}
	base := pick(rng, forms)
	name := base + ext
	for i := 3; f.Files[path.Join(InvoiceDir, name)] != ""; i++ {
		name = fmt.Sprintf("%s (%d)%s", base, i, ext)
	}
	return name
}

func slugOf(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return strings.TrimSuffix(b.String(), "-")
}

// writeNotes leaves files that are no invoices among the invoices.
func (f *Folder) writeNotes(rng *rand.Rand) {
	notes := map[string]string{
		"notes.txt": "Hi, these are all invoices that came in this month.\n" +
			"The one about freight came twice I think: 1,250.00 EUR?\nPlease check before Friday. Anna\n",
		"price list.csv": "Article;Price\nHinge;2,40\nBracket;3,15\n",
	}
	for _, name := range []string{"notes.txt", "price list.csv"} {
		if rng.IntN(2) == 0 {
			f.Files[path.Join(InvoiceDir, name)] = notes[name]
			f.Skipped = append(f.Skipped, name)
		}
	}
}

func (f *Folder) bookings(rng *rand.Rand) []Booking {
	var out []Booking
	for _, c := range f.Cases {
		if c.Booking != nil {
			out = append(out, *c.Booking)
		}
	}
	rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }
