package messy

// words are the labels of one language. Of each list a supplier's system uses
// one; the first four name what a reader needs, the distractors what must not be
// taken for it.
type words struct {
	titles      []string
	number      []string
	date        []string
	supplier    []string
	currency    []string
	recipient   []string
	orderNo     []string
	otherDates  []string
	item        []string
	quantity    []string
	unit        []string
	amount      []string
	net         []string
	tax         []string
	total       []string
	balance     []string
	discount    string
	footers     []string
	months      [12]string
	dayDot      string // after the day in a written-out date
	numberStyle []number
}

func english() *words {
	return &words{
		titles: []string{"INVOICE", "Tax Invoice", ""}, number: []string{"Invoice No.", "Invoice number", "Invoice #", "Invoice no", "Bill no."},
		date: []string{"Invoice date", "Date", "Issued", "Date of issue"}, supplier: []string{"Supplier", "From", "Seller", "Vendor"},
		currency: []string{"Currency"}, recipient: []string{"Bill to", "Customer"}, orderNo: []string{"Order no.", "Your order", "Customer no.", "PO number"},
		otherDates: []string{"Due date", "Delivery date", "Order date"},
		item:       []string{"Description", "Item", "Article"}, quantity: []string{"Qty", "Quantity", "Qty."}, unit: []string{"Unit price", "Price", "Rate"},
		amount: []string{"Amount", "Line total"}, net: []string{"Subtotal", "Net", "Net total"}, tax: []string{"VAT", "Tax", "Sales tax"},
		total: []string{"Total", "Amount due", "Grand total", "Invoice total"}, balance: []string{"Previous balance", "Credit limit"}, discount: "Discount",
		footers: []string{"VAT ID: GB123456789", "Thank you for your business!", "Late payments are charged 8 % interest.", "Bank: Harbour Bank, IBAN GB29 1234 5678"},
		months:  [12]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"},
		dayDot:  "", numberStyle: []number{{",", "."}, {"", "."}, {" ", "."}},
	}
}

func german() *words {
	return &words{
		titles: []string{"RECHNUNG", "Rechnung", ""}, number: []string{"Rechnungsnummer", "Rechnung Nr.", "Rechnungs-Nr.", "Rechnungsnr."},
		date: []string{"Rechnungsdatum", "Datum"}, supplier: []string{"Lieferant", "Absender", "Aussteller"},
		currency: []string{"Währung"}, recipient: []string{"Empfänger", "Kunde"}, orderNo: []string{"Bestellnummer", "Kundennummer", "Auftrags-Nr."},
		otherDates: []string{"Fällig am", "Lieferdatum", "Bestelldatum"},
		item:       []string{"Bezeichnung", "Artikel", "Beschreibung"}, quantity: []string{"Menge", "Anzahl"}, unit: []string{"Einzelpreis", "Preis", "E-Preis"},
		amount: []string{"Betrag", "Gesamtpreis"}, net: []string{"Zwischensumme", "Nettobetrag", "Summe netto"}, tax: []string{"MwSt.", "USt.", "MwSt"},
		total: []string{"Gesamtbetrag", "Rechnungsbetrag", "Zu zahlen", "Gesamt"}, balance: []string{"Alter Saldo", "Kreditlimit"}, discount: "Rabatt",
		footers: []string{"USt-IdNr.: DE123456789", "Steuernummer: 12/345/67890", "Zahlbar innerhalb von 14 Tagen mit 2 % Skonto.", "Bank: Nordbank, IBAN DE12 3456 7890"},
		months:  [12]string{"Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember"},
		dayDot:  ".", numberStyle: []number{{".", ","}, {"", ","}, {"'", "."}, {"’", "."}},
	}
}

func french() *words {
	return &words{
		titles: []string{"FACTURE", "Facture", ""}, number: []string{"Facture n°", "Numéro de facture", "N° facture"},
		date: []string{"Date de facture", "Date", "Date d'émission"}, supplier: []string{"Fournisseur", "Émetteur"},
		currency: []string{"Devise"}, recipient: []string{"Client", "Facturé à"}, orderNo: []string{"Numéro de commande", "Numéro client"},
		otherDates: []string{"Échéance", "Date de livraison"},
		item:       []string{"Désignation", "Article"}, quantity: []string{"Quantité", "Qté"}, unit: []string{"Prix unitaire", "P.U."},
		amount: []string{"Montant"}, net: []string{"Sous-total", "Total HT"}, tax: []string{"TVA"},
		total: []string{"Total TTC", "Net à payer", "Total"}, balance: []string{"Solde précédent"}, discount: "Remise",
		footers: []string{"TVA intracommunautaire: FR12345678901", "Merci de votre confiance.", "Pénalités de retard : 10 % par an"},
		months:  [12]string{"janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre", "décembre"},
		dayDot:  "", numberStyle: []number{{" ", ","}, {"\u00a0", ","}, {"\u202f", ","}, {"", ","}},
	}
}
