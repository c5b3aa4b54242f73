package messy

import (
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"strings"
)

// table writes CSV with one delimiter. A delimiter that the numbers use too is
// fine: such cells are quoted.
type table struct {
	csv *csv.Writer
	b   strings.Builder
}

func newTable(delimiter rune) *table {
	t := &table{}
	t.csv = csv.NewWriter(&t.b)
	t.csv.Comma = delimiter
	return t
}

// row cannot fail: the writer under it is memory.
func (t *table) row(cells ...string) { _ = t.csv.Write(cells) }

func (t *table) text() string {
	t.csv.Flush()
	return t.b.String()
}

func newDelimiter(rng *rand.Rand, decimal string) rune {
	if decimal == "," {
		return pick(rng, []rune{';', ';', '\t', ','})
	}
	return pick(rng, []rune{',', ',', ';', '\t'})
}

// sections is the CSV of a program that exports a page: labels, lines, totals.
func (p *writer) sections() {
	t := newTable(newDelimiter(p.rng, p.money.decimal))
	t.row(pick(p.rng, p.w.supplier), p.inv.Supplier, "", "")
	t.row(pick(p.rng, p.w.number), " "+p.inv.Number, "", "")
	t.row(pick(p.rng, p.w.otherDates)+p.dates.hint, p.dates.format(p.inv.Date.AddDate(0, 0, 30)), "", "")
	t.row(pick(p.rng, p.w.date)+p.dates.hint, p.dates.format(p.inv.Date), "", "")
	head := []string{pick(p.rng, p.w.item), pick(p.rng, p.w.quantity), pick(p.rng, p.w.unit), pick(p.rng, p.w.amount)}
	if !p.money.named {
		if p.rng.IntN(2) == 0 {
			t.row(pick(p.rng, p.w.currency), p.inv.Currency, "", "")
		} else {
			head[2] += " (" + p.inv.Currency + ")"
			head[3] += " (" + p.inv.Currency + ")"
		}
	}
	t.row("", "", "", "")
	t.row(head...)
	for _, l := range p.inv.Lines {
		t.row(l.Description, p.money.quantity(l.Tenths), p.money.text(l.Unit), p.money.text(l.Amount))
	}
	t.row("", "", "", "")
	if p.inv.Rate != 0 {
		t.row(fmt.Sprintf("%s %s%%", pick(p.rng, p.w.tax), p.money.percent(p.inv.Rate)), "", "", p.money.text(p.inv.Tax))
	}
	if p.rng.IntN(2) == 0 {
		t.row(pick(p.rng, p.w.total), "", "", p.money.text(p.inv.Total))
	}
	p.b.WriteString(t.text())
}

// flat is the CSV of a database: every row repeats the invoice, nothing is summed.
func (p *writer) flat() {
	t := newTable(newDelimiter(p.rng, p.money.decimal))
	type column struct {
		head string
		cell func(Line) string
	}
	fixed := func(s string) func(Line) string { return func(Line) string { return s } }
	columns := []column{
		{pick(p.rng, p.w.number), fixed(p.inv.Number)},
		{pick(p.rng, p.w.date) + p.dates.hint, fixed(p.dates.format(p.inv.Date))},
		{pick(p.rng, p.w.supplier), fixed(p.inv.Supplier)},
		{pick(p.rng, p.w.currency), fixed(p.inv.Currency)},
		{pick(p.rng, p.w.item), func(l Line) string { return l.Description }},
		{pick(p.rng, p.w.quantity), func(l Line) string { return p.money.quantity(l.Tenths) }},
		{pick(p.rng, p.w.unit), func(l Line) string { return p.money.text(l.Unit) }},
		{pick(p.rng, p.w.orderNo), fixed(fmt.Sprint(40000 + p.rng.IntN(9999)))},
		{pick(p.rng, p.w.tax) + " %", fixed(p.money.percent(p.inv.Rate))},
	}
	p.rng.Shuffle(len(columns), func(i, j int) { columns[i], columns[j] = columns[j], columns[i] })
	var head []string
	for _, c := range columns {
		head = append(head, c.head)
	}
	t.row(head...)
	for _, l := range p.inv.Lines {
		var row []string
		for _, c := range columns {
			row = append(row, c.cell(l))
		}
		t.row(row...)
	}
	p.b.WriteString(t.text())
}
