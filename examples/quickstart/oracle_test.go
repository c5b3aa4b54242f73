package main

import (
	"bytes"
	"encoding/json"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/examples/quickstart/internal/messy"
)

// The oracle knows what report.json must say from the generator's own data: which
// case each invoice was made as, and its figures before they were written down in
// any notation. It shares no code with what reads the files.

// figure is a JSON number as an exact fraction, or "null".
type figure string

func (f *figure) UnmarshalJSON(data []byte) error {
	*f = "null"
	if string(data) == "null" {
		return nil
	}
	var n json.Number
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&n); err != nil {
		return err
	}
	r, ok := new(big.Rat).SetString(n.String())
	if !ok || data[0] == '"' {
		*f = figure("not a number: " + string(data))
		return nil
	}
	*f = figure(r.RatString())
	return nil
}

func money(hundredths int64) figure { return figure(big.NewRat(hundredths, 100).RatString()) }

type reportTruth struct {
	InvoicesRead int            `json:"invoices_read"`
	FilesSkipped int            `json:"files_skipped"`
	LedgerRows   int            `json:"ledger_rows"`
	Counts       map[string]int `json:"counts"`
	Totals       []totalTruth   `json:"totals"`
	Findings     []findingTruth `json:"findings"`
}

type totalTruth struct {
	Currency   string `json:"currency"`
	Invoiced   figure `json:"invoiced"`
	Booked     figure `json:"booked"`
	Difference figure `json:"difference"`
}

type findingTruth struct {
	Status       string  `json:"status"`
	Supplier     string  `json:"supplier"`
	Number       string  `json:"invoice_number"`
	Currency     string  `json:"currency"`
	InvoiceTotal figure  `json:"invoice_total"`
	LedgerAmount figure  `json:"ledger_amount"`
	Difference   figure  `json:"difference"`
	File         *string `json:"file"`
}

// truthOf is the report that a folder must give.
func truthOf(f *messy.Folder) reportTruth {
	truth := reportTruth{
		FilesSkipped: len(f.Skipped),
		Counts:       map[string]int{"matched": 0, "amount_differs": 0, "missing_in_ledger": 0, "missing_invoice": 0, "duplicate": 0},
	}
	invoiced, booked := map[string]int64{}, map[string]int64{}
	for _, c := range f.Cases {
		truth.Counts[string(c.Status)]++
		finding := findingTruth{Status: string(c.Status), InvoiceTotal: "null", LedgerAmount: "null", Difference: "null"}
		if b := c.Booking; b != nil {
			truth.LedgerRows++
			invoiced[b.Currency] += 0
			booked[b.Currency] += b.Amount
			finding.Supplier, finding.Number, finding.Currency = singleSpaced(b.Supplier), singleSpaced(b.Number), b.Currency
			finding.LedgerAmount = money(b.Amount)
		}
		if inv := c.Invoice; inv != nil {
			truth.InvoicesRead += 1 + len(inv.Copies)
			invoiced[inv.Currency] += inv.Total
			finding.Supplier, finding.Number, finding.Currency = inv.Supplier, inv.Number, inv.Currency
			finding.InvoiceTotal, finding.File = money(inv.Total), &inv.File
			for _, file := range inv.Copies {
				truth.Counts["duplicate"]++
				truth.Findings = append(truth.Findings, findingTruth{
					Status: "duplicate", Supplier: inv.Supplier, Number: inv.Number, Currency: inv.Currency,
					InvoiceTotal: money(inv.Total), LedgerAmount: "null", Difference: "null", File: &file,
				})
			}
		}
		if c.Invoice != nil && c.Booking != nil {
			finding.Difference = money(c.Invoice.Total - c.Booking.Amount)
		}
		if c.Status != messy.Matched {
			truth.Findings = append(truth.Findings, finding)
		}
	}
	for currency := range invoiced {
		truth.Totals = append(truth.Totals, totalTruth{
			currency, money(invoiced[currency]), money(booked[currency]), money(invoiced[currency] - booked[currency]),
		})
	}
	slices.SortFunc(truth.Totals, func(a, b totalTruth) int { return strings.Compare(a.Currency, b.Currency) })
	return truth
}

func singleSpaced(s string) string { return strings.Join(strings.Fields(s), " ") }

// requireTrueReport compares a folder's report.json with the truth, figure by
// figure; only the order of findings is free. The Markdown beside it must name
// every finding.
func requireTrueReport(t *testing.T, truth reportTruth, folder string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, "report.json"))
	require.NoError(t, err)
	var got reportTruth
	require.NoError(t, json.Unmarshal(data, &got))
	require.ElementsMatch(t, truth.Findings, got.Findings)
	findings := truth.Findings
	truth.Findings, got.Findings = nil, nil
	require.Equal(t, truth, got)

	markdown, err := os.ReadFile(filepath.Join(folder, "report.md"))
	require.NoError(t, err)
	for _, f := range findings {
		assert.Contains(t, string(markdown), f.Number)
		if f.Status == "duplicate" {
			assert.Contains(t, string(markdown), *f.File)
		}
	}
}
