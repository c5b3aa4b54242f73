package clerk

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/examples/quickstart/internal/messy"
)

// The generator's data is the truth: it was there before any text was.
func TestEveryFileOfManyFoldersIsReadRight(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		folder := messy.Generate(seed)
		for _, c := range folder.Cases {
			if c.Invoice == nil {
				continue
			}
			for _, name := range append([]string{c.Invoice.File}, c.Invoice.Copies...) {
				text := folder.Files[path.Join(messy.InvoiceDir, name)]
				inv, err := readInvoice(name, text)
				require.NoError(t, err, "seed %d, %s:\n%s", seed, name, text)
				require.Equal(t, wantInvoice(name, c.Invoice), inv, "seed %d, %s:\n%s", seed, name, text)
			}
		}
		for _, name := range folder.Skipped {
			_, err := readInvoice(name, folder.Files[path.Join(messy.InvoiceDir, name)])
			require.Error(t, err, "seed %d, %s", seed, name)
		}
	}
}

func wantInvoice(name string, truth *messy.Invoice) *invoice {
	want := &invoice{
		File: name, Supplier: truth.Supplier, Number: truth.Number, Date: truth.Date.Format("2006-01-02"),
		Currency: truth.Currency, Net: cents(truth.Net), Tax: cents(truth.Tax), Total: cents(truth.Total),
	}
	for _, l := range truth.Lines {
		want.Lines = append(want.Lines, invoiceLine{l.Description, thousandths(l.Tenths * 100), cents(l.Unit), cents(l.Amount)})
	}
	return want
}

func TestFiguresAreReadInEveryNotation(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]cents{
		"1,234.50": 123450, "$1,234.50": 123450, "1 234.50 USD": 123450, "(50.00)": -5000, "50.00-": -5000, "−50.00": -5000, "-€50.00": -5000, "1'234.50": 123450, "7": 700,
	} {
		got, err := parseCents(text, ".")
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for text, want := range map[string]cents{"1.234,50": 123450, "1 234,50 €": 123450, "12,5": 1250} {
		got, err := parseCents(text, ",")
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "n/a", "1.2345", strings.Repeat("9", 40)} {
		_, err := parseCents(text, ".")
		assert.Error(t, err, text)
	}
}

func TestDatesAreReadInEveryNotation(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ label, text, want string }{
		{"Date", "2025-03-07", "2025-03-07"},
		{"Datum", "07.03.2025", "2025-03-07"},
		{"Datum", "7.3.25", "2025-03-07"},
		{"Date (DD/MM/YYYY)", "07/03/2025", "2025-03-07"},
		{"Date (mm/dd/yyyy)", "3/7/2025", "2025-03-07"},
		{"Date", "03/27/2025", "2025-03-27"},
		{"Date", "March 7, 2025", "2025-03-07"},
		{"Date", "07-Mar-2025", "2025-03-07"},
		{"Datum", "7. März 2025", "2025-03-07"},
		{"Date", "7 août 2025", "2025-08-07"},
	} {
		got, err := parseDate(tt.label, tt.text)
		require.NoError(t, err, tt.text)
		assert.Equal(t, tt.want, got, tt.text)
	}
	for _, text := range []string{"", "soon", "2025-02-30", "31.02.2025", "7 Foo 2025"} {
		_, err := parseDate("Date", text)
		assert.Error(t, err, text)
	}
}

func FuzzReadInvoice(f *testing.F) {
	for name, text := range messy.Generate(3).Files {
		f.Add(path.Ext(name) == ".csv", text)
	}
	f.Fuzz(func(t *testing.T, isCSV bool, text string) {
		name := "a.txt"
		if isCSV {
			name = "a.csv"
		}
		inv, err := readInvoice(name, text)
		if err == nil && len(inv.Lines) == 0 {
			t.Error("an invoice without lines was accepted")
		}
	})
}
