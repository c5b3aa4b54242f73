// Package schemas describes the files of a workflow to other languages: a JSON Schema
// (draft 2020-12) for each format, generated from the Go types that read and write it,
// with their comments as descriptions.
//
// [All] gives the schemas, [Plan] that of plans alone; both take a host's own step
// types, so that a plan with them is described, too. [Write] puts them into a folder,
// with the manifest of each step type. Those of the built-in types lie beside this
// package as NAME.schema.json.
//
// # What a schema says
//
// The schemas of what people write (plan, step configuration, settings, variables,
// validation) and of the ledger say what reading refuses about the form of a file: types,
// missing fields, words that are none of those known, numbers and lists out of range.
// Older forms that are still read are part of them. Null stands for an absent field
// wherever reading takes it for one, and keys that are not known are allowed, because
// they are kept.
//
// They cannot say what takes more than the one value: whether an id exists or stands
// twice, whether a regular expression, a path or a query is one, whether limits
// contradict each other. Nor do they see how a value is spelled: that reading refuses
// the whole numbers 1.0, 1e2 and -0 where they stand for 1, 100 and 0, and those over 64
// bits; that a key stands twice; or that keys of a plan are also found in other case.
// In a ledger they describe the date, the group and the sums that stand beside their
// parts, which reading passes over.
//
// The schemas of what only Treadle writes (run metadata, events, journal records,
// diagnostics) say what is written.
package schemas
