// Checks answers of mas serve against its own description: node openapi.mjs DIRECTORY
//
// DIRECTORY holds openapi.json, and for each answer a file NAME.json with {method, path, status,
// body}, path as in the description. Wants @seriousme/openapi-schema-validator and ajv where it is
// run from (NODE_PATH does nothing for modules).
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const [directory, modules] = process.argv.slice(2);
const require = createRequire(join(modules, "x.cjs"));
const { Validator } = await import(require.resolve("@seriousme/openapi-schema-validator"));
const Ajv = require("ajv/dist/2020").default;

const read = (name) => JSON.parse(readFileSync(join(directory, name), "utf8"));
const description = read("openapi.json");
const result = await new Validator().validate(structuredClone(description));
if (!result.valid) {
    console.error("the description is no OpenAPI:", JSON.stringify(result.errors, null, 1));
    process.exit(1);
}

const ajv = new Ajv({ strict: false, allErrors: true });
ajv.addSchema(description, "api");
let failed = 0;
let checked = 0;
for (const name of readdirSync(directory).filter((n) => n.endsWith(".answer"))) {
    const { method, path, status, body } = read(name);
    const known = description.paths[path]?.[method]?.responses[status];
    const complain = (why) => {
        console.error(`${method} ${path} ${status}: ${why}`);
        failed++;
    };
    checked++;
    if (!known) {
        complain("this status is not described");
        continue;
    }
    const schema = known.content?.["application/json"]?.schema;
    if (!schema) continue;
    const within = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/'));
    const validate = ajv.compile(within);
    if (!validate(body)) complain(ajv.errorsText(validate.errors) + " in " + JSON.stringify(body));
}
console.log(`${checked} answers, ${failed} of another form`);
process.exit(failed || checked < 1 ? 1 : 0);
