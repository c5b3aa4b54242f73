package clerk

import (
	"regexp"
	"slices"
	"strings"
)

// The things that a label or a column heading can announce.
const (
	isNumber   = "number"
	isDate     = "date"
	isSupplier = "supplier"
	isCurrency = "currency"
	isNet      = "net"
	isTax      = "tax"
	isTotal    = "total"
	isItem     = "item"
	isQuantity = "quantity"
	isUnit     = "unit"
	isAmount   = "amount"
)

var brackets = regexp.MustCompile(`\([^)]*\)`)

// labelKey is a label without what varies: letter case, brackets, a colon or stop.
func labelKey(label string) string {
	label = brackets.ReplaceAllString(strings.ToLower(label), " ")
	return spaced(strings.Trim(spaced(label), ":. "))
}

func lookup(groups map[string][]string) map[string]string {
	out := map[string]string{}
	for name, labels := range groups {
		for _, l := range labels {
			out[l] = name
		}
	}
	return out
}

// fieldLabels are labels that stand before a value.
var fieldLabels = lookup(map[string][]string{
	isNumber: {
		"invoice no", "invoice number", "invoice #", "invoice nr", "bill no", "bill number", "invoice id",
		"rechnungsnummer", "rechnung nr", "rechnungs-nr", "rechnungsnr", "rechnung", "belegnummer",
		"facture n°", "numéro de facture", "n° facture", "facture no", "n° de facture",
	},
	isDate: {
		"invoice date", "date", "issued", "date of issue", "issue date", "rechnungsdatum", "datum",
		"date de facture", "date d'émission", "date de facturation",
	},
	isSupplier: {"supplier", "from", "seller", "vendor", "lieferant", "absender", "aussteller", "fournisseur", "émetteur", "vendeur"},
	isCurrency: {"currency", "währung", "devise"},
	isNet: {
		"subtotal", "sub-total", "net", "net total", "total net", "zwischensumme", "nettobetrag", "summe netto", "netto",
		"sous-total", "total ht", "montant ht",
	},
	isTotal: {
		"total", "amount due", "grand total", "invoice total", "total due", "gesamtbetrag", "rechnungsbetrag", "zu zahlen",
		"gesamt", "gesamtsumme", "total ttc", "net à payer", "montant ttc",
	},
})

// columnLabels are headings of the columns of an invoice's lines.
var columnLabels = lookup(map[string][]string{
	isItem:     {"description", "item", "article", "bezeichnung", "artikel", "beschreibung", "désignation", "product"},
	isQuantity: {"qty", "quantity", "menge", "anzahl", "quantité", "qté"},
	isUnit:     {"unit price", "price", "rate", "einzelpreis", "preis", "e-preis", "prix unitaire", "p.u", "prix"},
	isAmount:   {"amount", "line total", "betrag", "gesamtpreis", "montant", "total", "gesamt"},
})

var ledgerColumns = lookup(map[string][]string{
	isSupplier: {"supplier", "vendor", "lieferant", "fournisseur"},
	isNumber:   {"invoice no", "invoice number", "invoice", "document", "belegnummer", "facture"},
	isCurrency: {"currency", "curr", "währung", "devise"},
	isAmount:   {"amount", "gross amount", "gross", "betrag", "montant"},
})

var taxLabel = regexp.MustCompile(`(?i)^(?:plus |zzgl\. )?(?:vat|sales tax|tax|gst|mwst\.?|ust\.?|tva|moms)\s*(\d+(?:[.,]\d+)?)?\s*%`)

// known reports whether a text is a label of a value.
func known(label string) bool {
	_, ok := fieldLabels[labelKey(label)]
	return ok || taxLabel.MatchString(strings.TrimSpace(label))
}

// title reports whether a line only says what kind of paper it is.
func title(line string) bool {
	return slices.Contains([]string{"invoice", "tax invoice", "rechnung", "facture"}, labelKey(line))
}
