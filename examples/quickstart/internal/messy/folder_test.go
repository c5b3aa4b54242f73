package messy

import (
	"path"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheSameSeedMakesTheSameFolder(t *testing.T) {
	t.Parallel()
	first, again := Generate(5), Generate(5)
	assert.Equal(t, first, again)
	assert.NotEqual(t, Generate(5).Files, Generate(6).Files)
}

// A test over many folders proves as much as the folders hold.
func TestManyFoldersHoldEveryKindOfTrouble(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for seed := range uint64(50) {
		f := Generate(seed)
		perFolder := map[Status]bool{}
		numbers := map[string]string{}
		for _, c := range f.Cases {
			perFolder[c.Status] = true
			inv := c.Invoice
			if inv == nil {
				continue
			}
			seen["two suppliers with one number"] = seen["two suppliers with one number"] || numbers[inv.Number] != "" && numbers[inv.Number] != inv.Supplier
			numbers[inv.Number] = inv.Supplier
			seen[inv.Currency] = true
			perFolder[Duplicate] = perFolder[Duplicate] || len(inv.Copies) > 0
			for _, name := range append(inv.Copies, inv.File) {
				seen[path.Ext(name)] = true
			}
			seen["discount"] = seen["discount"] || inv.Lines[len(inv.Lines)-1].Amount < 0
		}
		for _, s := range []Status{Matched, AmountDiffers, MissingInLedger, MissingInvoice} {
			require.True(t, perFolder[s], "seed %d has no %s", seed, s)
		}
		seen["duplicate"] = seen["duplicate"] || perFolder[Duplicate]
		seen["skipped"] = seen["skipped"] || len(f.Skipped) > 0
	}
	for _, want := range []string{"two suppliers with one number", "EUR", "USD", "GBP", "CHF", "SEK", ".txt", ".csv", "discount", "duplicate", "skipped"} {
		assert.True(t, seen[want], want)
	}
}

func TestFiguresOfAnInvoiceAddUp(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		for _, c := range Generate(seed).Cases {
			inv := c.Invoice
			if inv == nil {
				continue
			}
			var net int64
			for _, l := range inv.Lines {
				require.Equal(t, l.Amount*10, l.Tenths*l.Unit, "no fraction of a cent")
				net += l.Amount
			}
			require.Equal(t, net, inv.Net)
			require.Equal(t, inv.Net+inv.Tax, inv.Total)
			require.Positive(t, inv.Total)
			if c.Booking != nil {
				require.Equal(t, c.Status == Matched, c.Booking.Amount == inv.Total)
			}
		}
	}
}
