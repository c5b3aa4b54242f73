package messy

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// supplier is who sends invoices. The names include two that differ by one word
// only, and each numbers its invoices in its own way.
type supplier struct {
	name     string
	language *words
	currency []string
	rates    []int64 // tenths of a percent
	number   func(n int) string
}

func suppliers() []supplier {
	year := func(prefix, sep, digits string) func(int) string {
		return func(n int) string { return fmt.Sprintf("%s%s%s"+digits, prefix, "2025", sep, n) }
	}
	plain := func(format string) func(int) string {
		return func(n int) string { return fmt.Sprintf(format, n) }
	}
	en, de, fr := english(), german(), french()
	return []supplier{
		{"Nordlicht GmbH", de, []string{"EUR"}, []int64{190, 70}, year("RE-", "-", "%04d")},
		{"Nordlicht Logistik GmbH", de, []string{"EUR"}, []int64{190}, year("RE-", "-", "%04d")},
		{"Alpenblick AG", de, []string{"CHF", "EUR"}, []int64{81, 26}, year("", "/", "%d")},
		{"Schreinerei Müller & Söhne", de, []string{"EUR"}, []int64{190}, plain("%06d")},
		{"Harbour Supplies Ltd", en, []string{"GBP"}, []int64{200, 50}, year("INV-", "-", "%d")},
		{"Baker Street Printing Ltd", en, []string{"GBP", "EUR"}, []int64{200}, plain("BSP%05d")},
		{"Redwood Tools Inc.", en, []string{"USD"}, []int64{0, 83}, plain("%d")},
		{"Prairie Paper Co", en, []string{"USD"}, []int64{0}, year("PP.", ".", "%03d")},
		{"Lindqvist Papper AB", en, []string{"SEK", "EUR"}, []int64{250}, plain("%d-A")},
		{"Papeterie du Lac SARL", fr, []string{"EUR", "CHF"}, []int64{200, 55}, year("F", "-", "%04d")},
		{"Transports Bérard", fr, []string{"EUR"}, []int64{200, 0}, plain("FA %05d")},
	}
}

var items = []string{
	"Copper pipe 22mm", "Paper A4 500 sheets", "Bolts M8 x 40, zinc", "EUR pallet, used", "Hinge 3.5 in",
	`Screen 24" matt`, "Freight", "Consulting (on site)", "Cable 3x1,5 mm", "Toner 05A black",
	"Kugelschreiber blau", "Schrauben 4,0 x 50", "Enveloppes C5", "Câble 2 m", "Service contract 2025/26 for the machines in hall 4",
}

func newInvoices(rng *rand.Rand, n int) []*Invoice {
	all := suppliers()
	taken := map[string]bool{}
	var out []*Invoice
	for len(out) < n {
		s := pick(rng, all)
		// Now and then two suppliers use the same number.
		inv := newInvoice(rng, s)
		if len(out) > 0 && rng.IntN(5) == 0 {
			inv.Number = out[len(out)-1].Number
		}
		if key := s.name + "\n" + inv.Number; !taken[key] {
			taken[key] = true
			out = append(out, inv)
		}
	}
	return out
}

func newInvoice(rng *rand.Rand, s supplier) *Invoice {
	inv := &Invoice{
		Supplier: s.name,
		Number:   s.number(1 + rng.IntN(900)),
		Date:     time.Date(2025, time.Month(1+rng.IntN(12)), 1+rng.IntN(28), 0, 0, 0, 0, time.UTC),
		Currency: pick(rng, s.currency),
		Rate:     pick(rng, s.rates),
	}
	for range 1 + rng.IntN(5) {
		inv.Lines = append(inv.Lines, newLine(rng))
	}
	for _, l := range inv.Lines {
		inv.Net += l.Amount
	}
	if inv.Net > 2000 && rng.IntN(4) == 0 {
		off := 100 + rng.Int64N(inv.Net/4)
		inv.Lines = append(inv.Lines, Line{Description: s.language.discount, Tenths: 10, Unit: -off, Amount: -off})
		inv.Net -= off
	}
	inv.Tax = (inv.Net*inv.Rate + 500) / 1000
	inv.Total = inv.Net + inv.Tax
	return inv
}

func newLine(rng *rand.Rand) Line {
	l := Line{Description: pick(rng, items), Tenths: 10 * (1 + rng.Int64N(12)), Unit: 5 + rng.Int64N(9000)}
	switch rng.IntN(6) {
	case 0: // half units, priced so that the amount has no fraction of a cent
		l.Tenths += 5
		l.Unit = 10 * (1 + rng.Int64N(3000))
	case 1:
		l.Unit = 100 * (1000 + rng.Int64N(9000))
	case 2:
		l.Tenths = 10 * (1000 + rng.Int64N(500))
		l.Unit = 5 + rng.Int64N(200)
	}
	l.Amount = l.Tenths * l.Unit / 10
	return l
}
