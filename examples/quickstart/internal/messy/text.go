package messy

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode/utf8"
)

// writer puts one invoice into one file. Its choices are made once, so that a file
// is of one piece, as a supplier's system makes it.
type writer struct {
	rng   *rand.Rand
	inv   *Invoice
	w     *words
	money money
	dates dates
	b     strings.Builder
}

// invoiceText returns a file's content and its extension.
func invoiceText(rng *rand.Rand, inv *Invoice) (text, ext string) {
	w := languageOf(inv.Supplier)
	num := pick(rng, w.numberStyle)
	p := &writer{rng: rng, inv: inv, w: w, money: newMoney(rng, num, inv.Currency), dates: newDates(rng, w, inv.Date)}
	ext = ".txt"
	switch rng.IntN(7) {
	case 0, 1:
		p.letter()
	case 2:
		p.pipes()
	case 3, 4:
		p.note()
	case 5:
		ext = ".csv"
		p.sections()
	default:
		ext = ".csv"
		p.flat()
	}
	return p.dress(p.b.String()), ext
}

func languageOf(name string) *words {
	for _, s := range suppliers() {
		if s.name == name {
			return s.language
		}
	}
	return english()
}

// dress adds what editors and systems leave in files: a byte order mark, Windows
// line ends, spaces at line ends.
func (p *writer) dress(text string) string {
	if p.rng.IntN(4) == 0 {
		text = strings.ReplaceAll(text, "\n", "  \n")
	}
	if p.rng.IntN(3) == 0 {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if p.rng.IntN(5) == 0 {
		text = "\ufeff" + text
	}
	return text
}

func (p *writer) line(format string, args ...any) { fmt.Fprintf(&p.b, format+"\n", args...) }

// letter has the supplier in its letterhead and the lines in columns.
func (p *writer) letter() {
	if title := pick(p.rng, p.w.titles); title != "" {
		p.line("%s\n", title)
	}
	p.line("%s%s", strings.Repeat(" ", p.rng.IntN(6)), strings.ReplaceAll(p.inv.Supplier, " ", pick(p.rng, []string{" ", "  "})))
	p.line("Main Street 12, 10115 Somewhere\n")
	p.line("%s: Treadle Works Ltd", pick(p.rng, p.w.recipient))
	p.header(pick(p.rng, []string{": ", " : ", ":   ", "    "}), p.rng.IntN(3) == 0)
	p.line("")
	p.columns()
	p.totals(pick(p.rng, []string{": ", "    ", " ........ "}))
	p.footer()
}

// note labels everything and writes the lines as sentences do: 3 x pipe @ 12.50.
func (p *writer) note() {
	p.line("%s: Treadle Works Ltd", pick(p.rng, p.w.recipient))
	p.line("%s:  %s", pick(p.rng, p.w.supplier), p.inv.Supplier)
	p.header(": ", false)
	p.line("")
	times := pick(p.rng, []string{"x", "×"})
	withAmount := p.rng.IntN(2) == 0
	for _, l := range p.inv.Lines {
		text := fmt.Sprintf("%s %s %s @ %s", p.money.quantity(l.Tenths), times, l.Description, p.money.text(l.Unit))
		if withAmount {
			text += " = " + p.money.text(l.Amount)
		}
		p.line("%s%s", pick(p.rng, []string{"", "  ", "\t"}), text)
	}
	p.line("")
	p.totals(pick(p.rng, []string{": ", " ........ "}))
	p.footer()
}

// pipes draws its table with bars.
func (p *writer) pipes() {
	p.line("%s | %s", pick(p.rng, p.w.supplier), p.inv.Supplier)
	p.header(" | ", false)
	p.line("")
	p.line("| %s | %s | %s | %s |", pick(p.rng, p.w.item), pick(p.rng, p.w.quantity), pick(p.rng, p.w.unit), pick(p.rng, p.w.amount))
	p.line("|---|---|---|---|")
	for _, l := range p.inv.Lines {
		p.line("|%s |  %s| %s | %s |", l.Description, p.money.quantity(l.Tenths), p.money.text(l.Unit), p.money.text(l.Amount))
	}
	p.line("")
	p.totals(" | ")
	p.footer()
}

// header writes number, date, currency and distractors in any order, on one line
// each, or number and date beside each other.
func (p *writer) header(sep string, beside bool) {
	number := pick(p.rng, p.w.number) + sep + p.inv.Number
	date := pick(p.rng, p.w.date) + p.dates.hint + sep + p.dates.format(p.inv.Date)
	var fields []string
	if beside {
		fields = append(fields, number+"        "+date)
	} else {
		fields = append(fields, number, date)
	}
	if !p.money.named {
		fields = append(fields, pick(p.rng, p.w.currency)+sep+p.inv.Currency)
	}
	if p.rng.IntN(2) == 0 {
		fields = append(fields, pick(p.rng, p.w.orderNo)+sep+fmt.Sprint(40000+p.rng.IntN(9999)))
	}
	if p.rng.IntN(2) == 0 {
		fields = append(fields, pick(p.rng, p.w.otherDates)+p.dates.hint+sep+p.dates.format(p.inv.Date.AddDate(0, 0, 14)))
	}
	p.rng.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	for _, f := range fields {
		p.line("%s", f)
	}
}

// columns writes the lines in columns parted by spaces or tabs. Long descriptions
// go on in the next line.
func (p *writer) columns() {
	tab := p.rng.IntN(3) == 0
	row := func(cells ...string) {
		if tab {
			p.line("%s", strings.Join(cells, "\t"))
			return
		}
		p.line("%s  %s  %s  %s", pad(cells[0], 32), pad(cells[1], 9), pad(cells[2], 14), cells[3])
	}
	row(pick(p.rng, p.w.item), pick(p.rng, p.w.quantity), pick(p.rng, p.w.unit), pick(p.rng, p.w.amount))
	rule := strings.Repeat(pick(p.rng, []string{"-", "=", "_"}), 60)
	p.line("%s", rule)
	for _, l := range p.inv.Lines {
		first, rest := l.Description, ""
		if cut := strings.Index(first, " for "); cut > 0 {
			first, rest = first[:cut], first[cut+1:]
		}
		row(first, p.money.quantity(l.Tenths), p.money.text(l.Unit), p.money.text(l.Amount))
		if rest != "" {
			p.line("  %s", rest)
		}
	}
	p.line("%s", rule)
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

// totals prints all figures, or only what a reader needs to compute the rest.
func (p *writer) totals(sep string) {
	tax := pick(p.rng, p.w.tax) + " " + p.money.percent(p.inv.Rate) + pick(p.rng, []string{"%", " %"})
	if p.rng.IntN(3) == 0 {
		p.line("%s%s%s", pick(p.rng, p.w.balance), sep, p.money.text(12000+p.rng.Int64N(99999)))
	}
	switch p.rng.IntN(4) {
	case 0: // only the rate: total and tax must be computed
		if p.inv.Rate != 0 {
			p.line("%s", tax)
		}
	case 1: // net and tax, no total
		p.line("%s%s%s", pick(p.rng, p.w.net), sep, p.money.text(p.inv.Net))
		p.line("%s%s%s", tax, sep, p.money.text(p.inv.Tax))
	default:
		p.line("%s%s%s", pick(p.rng, p.w.net), sep, p.money.text(p.inv.Net))
		if p.inv.Rate != 0 {
			p.line("%s%s%s", tax, sep, p.money.text(p.inv.Tax))
		}
		p.line("%s%s%s", pick(p.rng, p.w.total), sep, p.money.text(p.inv.Total))
	}
}

func (p *writer) footer() {
	p.line("")
	for _, f := range p.w.footers {
		if p.rng.IntN(2) == 0 {
			p.line("%s", f)
		}
	}
}
