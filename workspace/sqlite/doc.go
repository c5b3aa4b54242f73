// Package sqlite gives access to the database of a workflow, the SQLite file
// db/db.sqlite of its workspace. It is a leaf: a host that wants the database imports
// it, and hands it to what asks for a database by a port, such as the db checks of
// package validation.
//
// [NewReader] is for a query now and then, each on the file as it is at that moment.
// [Open] keeps a database open for many queries. Both only read: the file is opened
// read-only, an authorizer admits nothing but reading, and a text that holds more
// than one statement is refused. [OpenWriter] is for code that changes the database in
// transactions of its own.
//
// The storage must have its files on the local disk, on a file system whose locks
// work. Any number of readers, in any number of processes, work beside one writer; a
// reader that meets a writer's lock waits for it.
//
// Text stays text: a value of a column that is declared DATE, DATETIME or TIMESTAMP
// is returned as it is stored. Text between double quotes is the name of a column,
// never a string, so that a misspelt name is an error.
package sqlite
