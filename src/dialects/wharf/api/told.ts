import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { compileSchema } from "#lib/schema/index.ts";
import type { Told } from "../builds/transitions.ts";
import { BuildStatus } from "../schema/build.ts";
import type { Fields } from "./body.ts";

/** Additions: the original only accepts the status. */
const members = ["reason", "message", "stages", "steps", "outputs"] as const;

const schema = compileSchema(BuildStatus.schema);

/** Violations of the status schema are problems of the body. */
export function readTold(fields: Fields): Told {
  const given: Record<string, JsonValue> = {};
  for (const name of members) {
    const value = fields.value(name);
    if (value !== undefined && value !== null) given[name] = value;
  }
  if (Object.keys(given).length === 0) return {};
  const told = schema.prune(given).value;
  for (const { field, message } of schema.validate(told)) fields.problem(`${field}: ${message}`);
  return isJsonObject(told) ? typed(told) : {};
}

const typed = (told: JsonObject): Told => told;
