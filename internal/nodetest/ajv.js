// Reads lines of JSON: {"schema": S} adds a schema under its $id, and
// {"id": I, "document": D} asks whether the schema of that id takes the document. Each
// question is answered with a line "true" or "false".
"use strict";
const Ajv = require("ajv/dist/2020").default;
const addFormats = require("ajv-formats").default;

// strictTypes and strictRequired are against schemas whose parts say different things
// about one object.
const ajv = new Ajv({ strict: true, allowUnionTypes: true, strictTypes: false, strictRequired: false });
addFormats(ajv);

const answers = [];
for (const line of require("fs").readFileSync(0, "utf8").split("\n")) {
	if (line === "") continue;
	const asked = JSON.parse(line);
	if (asked.schema !== undefined) {
		ajv.addSchema(asked.schema);
		continue;
	}
	answers.push(ajv.validate(asked.id, asked.document));
}
process.stdout.write(answers.map((answer) => answer + "\n").join(""));
