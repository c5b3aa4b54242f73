package clerk

import (
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"
)

// raw is an invoice as it stands in its file, before any figure is read: how the
// file writes numbers is only known when all of them are together.
type raw struct {
	labels   map[string]string // what was before a value, for hints in it
	values   map[string]string // by field
	rate     string
	lines    []rawLine
	headings []string
	letter   string // the first line that is neither title nor field
}

type rawLine struct{ description, quantity, unit, amount string }

var sentence = regexp.MustCompile(`^(\d+(?:[.,]\d+)?)\s*[x×]\s+(.+?)\s+@\s+(.+?)(?:\s+=\s+(.+))?$`)

// readInvoice reads one file. A file that is no invoice is an error.
func readInvoice(name, text string) (*invoice, error) {
	text = clean(text)
	var rows [][]string
	if strings.EqualFold(path.Ext(name), ".csv") {
		rows = csvRows(text)
	} else {
		rows = textRows(text)
	}
	r := raw{labels: map[string]string{}, values: map[string]string{}}
	r.scan(rows)
	inv, err := r.invoice(text)
	if err != nil {
		return nil, err
	}
	inv.File = name
	return inv, nil
}

// scan goes over the rows once. Below a heading of columns rows are lines, until
// one is not.
func (r *raw) scan(rows [][]string) {
	var columns []string
	for _, row := range rows {
		if strings.Join(row, "") == "" && len(r.lines) > 0 {
			columns = nil
		}
		if heads := headingOf(row); heads != nil {
			columns, r.headings = heads, row
			continue
		}
		if m := sentence.FindStringSubmatch(strings.Join(row, " ")); m != nil {
			r.lines = append(r.lines, rawLine{description: m[2], quantity: m[1], unit: m[3], amount: m[4]})
			continue
		}
		if columns != nil && r.tableRow(columns, row) {
			continue
		}
		if !r.fields(row) && r.letter == "" && len(row) > 0 && !title(row[0]) && len(r.values) == 0 {
			r.letter = strings.Join(row, " ")
		}
	}
}

// headingOf maps a row of headings to what its columns hold, or returns nil when
// the row is none: it must head the items and two of their figures.
func headingOf(row []string) []string {
	out := make([]string, len(row))
	figures, item := 0, false
	for i, cell := range row {
		key := labelKey(cell)
		if name, ok := columnLabels[key]; ok {
			out[i] = name
			item = item || name == isItem
			if name != isItem {
				figures++
			}
		} else if taxLabel.MatchString(spaced(cell)) {
			out[i] = isTax
		} else {
			out[i] = fieldLabels[key]
		}
	}
	if !item || figures < 2 {
		return nil
	}
	return out
}

// tableRow takes a row below a heading and reports whether it is one of the table.
func (r *raw) tableRow(columns, row []string) bool {
	if len(row) == 1 && len(r.lines) > 0 && !known(row[0]) {
		r.lines[len(r.lines)-1].description += " " + row[0]
		return true
	}
	if len(row) != len(columns) || known(row[slices.Index(columns, isItem)]) {
		return false
	}
	var line rawLine
	for i, cell := range row {
		cell = spaced(cell)
		switch columns[i] {
		case isItem:
			line.description = cell
		case isQuantity:
			line.quantity = cell
		case isUnit:
			line.unit = cell
		case isAmount:
			line.amount = cell
		case isTax:
			r.rate = cell
		case "":
		default:
			r.set(columns[i], r.headings[i], cell)
		}
	}
	if line.description == "" || line.quantity == "" {
		return false
	}
	r.lines = append(r.lines, line)
	return true
}

// fields takes the labelled values of a row and reports whether there were any.
func (r *raw) fields(row []string) bool {
	found := false
	for i, cell := range row {
		if m := taxLabel.FindStringSubmatch(spaced(cell)); m != nil && m[1] != "" {
			r.rate = m[1]
			r.set(isTax, cell, after(row, i))
			found = true
			continue
		}
		if name, ok := fieldLabels[labelKey(cell)]; ok && after(row, i) != "" {
			r.set(name, cell, after(row, i))
			found = true
		}
	}
	return found
}

// after is the next cell of a row that is not empty.
func after(row []string, i int) string {
	for _, cell := range row[i+1:] {
		if cell = spaced(cell); cell != "" {
			return cell
		}
	}
	return ""
}

// set keeps the first value of a field.
func (r *raw) set(name, label, value string) {
	if r.values[name] == "" {
		r.labels[name], r.values[name] = label, value
	}
}

// invoice reads the figures and computes what the file leaves out.
func (r *raw) invoice(text string) (*invoice, error) {
	if r.values[isNumber] == "" || r.values[isDate] == "" || len(r.lines) == 0 {
		return nil, errors.New("no invoice: a number, a date or lines are missing")
	}
	inv := &invoice{Number: r.values[isNumber], Supplier: r.values[isSupplier]}
	if inv.Supplier == "" {
		inv.Supplier = r.letter
	}
	var err error
	if inv.Date, err = parseDate(r.labels[isDate], r.values[isDate]); err != nil {
		return nil, err
	}
	amounts := []string{r.values[isNet], r.values[isTax], r.values[isTotal]}
	for _, l := range r.lines {
		amounts = append(amounts, l.unit, l.amount)
	}
	inv.Currency = currencyIn(slices.Concat([]string{r.values[isCurrency]}, amounts, r.headings, []string{text})...)
	mark := decimalMark(amounts)
	for _, l := range r.lines {
		line, err := l.read(mark)
		if err != nil {
			return nil, err
		}
		inv.Lines = append(inv.Lines, line)
		inv.Net += line.Amount
	}
	return inv, r.sums(inv, mark)
}

func (l *rawLine) read(mark string) (invoiceLine, error) {
	quantity, err := parseQuantity(l.quantity, mark)
	if err != nil {
		return invoiceLine{}, err
	}
	unit, err := parseCents(l.unit, mark)
	if err != nil {
		return invoiceLine{}, err
	}
	line := invoiceLine{Description: l.description, Quantity: quantity, UnitPrice: unit}
	if l.amount != "" {
		line.Amount, err = parseCents(l.amount, mark)
		return line, err
	}
	line.Amount = share(unit, int64(quantity), 1000)
	return line, nil
}

// sums fills net, tax and total: printed figures win, the rest is computed.
func (r *raw) sums(inv *invoice, mark string) error {
	var err error
	if v := r.values[isNet]; v != "" {
		if inv.Net, err = parseCents(v, mark); err != nil {
			return err
		}
	}
	switch {
	case r.values[isTax] != "":
		inv.Tax, err = parseCents(r.values[isTax], mark)
	case r.rate != "":
		var rate thousandths
		if rate, err = parseQuantity(strings.ReplaceAll(r.rate, ",", "."), "."); err == nil {
			inv.Tax = share(inv.Net, int64(rate), 100*1000)
		}
	}
	if err != nil {
		return err
	}
	inv.Total = inv.Net + inv.Tax
	if v := r.values[isTotal]; v != "" {
		inv.Total, err = parseCents(v, mark)
	}
	return err
}
