package clerk

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// cents is money in hundredths. In JSON it is a number with two decimals, so that
// no figure passes through binary fractions.
type cents int64

func (c cents) String() string {
	sign := ""
	if c < 0 {
		sign, c = "-", -c
	}
	return fmt.Sprintf("%s%d.%02d", sign, c/100, c%100)
}

// MarshalJSON writes a number with two decimals.
func (c cents) MarshalJSON() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalJSON reads a number with at most two decimals, exactly.
func (c *cents) UnmarshalJSON(data []byte) error {
	whole, frac, _ := strings.Cut(string(data), ".")
	if len(frac) > 2 {
		return fmt.Errorf("amount %s has more than two decimals", data)
	}
	n, err := strconv.ParseInt(whole+(frac + "00")[:2], 10, 64)
	if err != nil {
		return fmt.Errorf("amount %s is not a plain number", data)
	}
	*c = cents(n)
	return nil
}

// thousandths is a quantity.
type thousandths int64

// MarshalJSON writes a number without trailing zeros.
func (q thousandths) MarshalJSON() ([]byte, error) {
	return []byte(strconv.FormatFloat(float64(q)/1000, 'f', -1, 64)), nil
}

// UnmarshalJSON reads a number of at most three decimals.
func (q *thousandths) UnmarshalJSON(data []byte) error {
	f, err := strconv.ParseFloat(string(data), 64)
	if err != nil {
		return fmt.Errorf("quantity %s is not a number", data)
	}
	*q = thousandths(f*1000 + 0.5)
	return nil
}

// invoicesDoc is invoices.json.
type invoicesDoc struct {
	Invoices []invoice `json:"invoices"`
	Skipped  []string  `json:"skipped"`
}

type invoice struct {
	File     string        `json:"file"`
	Supplier string        `json:"supplier"`
	Number   string        `json:"invoice_number"`
	Date     string        `json:"date"`
	Currency string        `json:"currency"`
	Lines    []invoiceLine `json:"lines"`
	Net      cents         `json:"net"`
	Tax      cents         `json:"tax"`
	Total    cents         `json:"total"`
}

type invoiceLine struct {
	Description string      `json:"description"`
	Quantity    thousandths `json:"quantity"`
	UnitPrice   cents       `json:"unit_price"`
	Amount      cents       `json:"amount"`
}

// reconciliationDoc is reconciliation.json.
type reconciliationDoc struct {
	LedgerRows int            `json:"ledger_rows"`
	Counts     map[string]int `json:"counts"`
	Entries    []entry        `json:"entries"`
}

// entry is one finding. What one side lacks is null.
type entry struct {
	Status       string  `json:"status"`
	Supplier     string  `json:"supplier"`
	Number       string  `json:"invoice_number"`
	Currency     string  `json:"currency"`
	InvoiceTotal *cents  `json:"invoice_total"`
	LedgerAmount *cents  `json:"ledger_amount"`
	Difference   *cents  `json:"difference"`
	File         *string `json:"file"`
}

// reportDoc is report.json.
type reportDoc struct {
	InvoicesRead int             `json:"invoices_read"`
	FilesSkipped int             `json:"files_skipped"`
	LedgerRows   int             `json:"ledger_rows"`
	Counts       map[string]int  `json:"counts"`
	Totals       []currencyTotal `json:"totals"`
	Findings     []entry         `json:"findings"`
}

type currencyTotal struct {
	Currency   string `json:"currency"`
	Invoiced   cents  `json:"invoiced"`
	Booked     cents  `json:"booked"`
	Difference cents  `json:"difference"`
}

// The findings, in the order in which they are listed.
const (
	matched         = "matched"
	amountDiffers   = "amount_differs"
	missingInLedger = "missing_in_ledger"
	missingInvoice  = "missing_invoice"
	duplicate       = "duplicate"
)

func statuses() []string {
	return []string{matched, amountDiffers, missingInLedger, missingInvoice, duplicate}
}

func render(doc any) (string, error) {
	data, err := json.MarshalIndent(doc, "", "  ")
	return string(data) + "\n", err
}
