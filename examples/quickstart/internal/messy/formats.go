package messy

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// number is how a system writes numbers.
type number struct{ thousands, decimal string }

func (n number) cents(c int64) string {
	sign := ""
	if c < 0 {
		sign, c = "-", -c
	}
	return sign + n.grouped(c/100) + n.decimal + fmt.Sprintf("%02d", c%100)
}

func (n number) grouped(units int64) string {
	digits := strconv.FormatInt(units, 10)
	var parts []string
	for len(digits) > 3 {
		parts = append([]string{digits[len(digits)-3:]}, parts...)
		digits = digits[:len(digits)-3]
	}
	return strings.Join(append([]string{digits}, parts...), n.thousands)
}

// quantity never has a thousands separator: "1.200 pieces" could be read twice.
func (n number) quantity(tenths int64) string {
	if tenths%10 == 0 {
		return strconv.FormatInt(tenths/10, 10)
	}
	return fmt.Sprintf("%d%s%d", tenths/10, n.decimal, tenths%10)
}

func (n number) percent(tenths int64) string {
	if tenths%10 == 0 {
		return strconv.FormatInt(tenths/10, 10)
	}
	return fmt.Sprintf("%d%s%d", tenths/10, n.decimal, tenths%10)
}

// money is how a system writes an amount with, or without, its currency.
type money struct {
	number
	format   string // one %s for the number
	negative string // "-", "()", "trailing" or "−"
	named    bool   // whether the format names the currency
}

func newMoney(rng *rand.Rand, n number, currency string) money {
	formats := []string{"%s", "%s", "%s " + currency, currency + " %s"}
	if symbol := map[string]string{"EUR": "€", "USD": "$", "GBP": "£"}[currency]; symbol != "" {
		formats = append(formats, symbol+"%s", "%s "+symbol)
	}
	m := money{number: n, format: pick(rng, formats)}
	m.named = m.format != "%s"
	m.negative = pick(rng, []string{"-", "()", "−"})
	if !m.named && rng.IntN(4) == 0 {
		m.negative = "trailing"
	}
	return m
}

func (m money) text(c int64) string {
	if c >= 0 {
		return fmt.Sprintf(m.format, m.cents(c))
	}
	plain := fmt.Sprintf(m.format, m.cents(-c))
	switch m.negative {
	case "()":
		return "(" + plain + ")"
	case "trailing":
		return plain + "-"
	default:
		return m.negative + plain
	}
}

// dates is how a system writes dates. The hint stands beside the label where the
// form alone could be read in two ways.
type dates struct {
	format func(time.Time) string
	hint   string
}

func newDates(rng *rand.Rand, w *words, shown time.Time) dates {
	layout := func(l string) dates { return dates{format: func(t time.Time) string { return t.Format(l) }} }
	slash := func(l, hint string) dates {
		d := layout(l)
		if shown.Day() <= 12 || rng.IntN(2) == 0 {
			d.hint = " (" + hint + ")"
		}
		return d
	}
	long := dates{format: func(t time.Time) string {
		return fmt.Sprintf("%d%s %s %d", t.Day(), w.dayDot, w.months[t.Month()-1], t.Year())
	}}
	forms := []dates{layout("2006-01-02"), layout("2006/01/02"), long, long, slash("02/01/2006", "DD/MM/YYYY")}
	if w.dayDot == "." {
		return pick(rng, append(forms, layout("02.01.2006"), layout("2.1.2006"), layout("02.01.06")))
	}
	if w.months[0] == "January" {
		forms = append(forms, layout("January 2, 2006"), layout("02-Jan-2006"), slash("01/02/2006", "MM/DD/YYYY"), slash("1/2/2006", "mm/dd/yyyy"))
	}
	return pick(rng, forms)
}
